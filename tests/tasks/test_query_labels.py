# SPDX-License-Identifier: Apache-2.0
"""Labels of text-to-SPARQL tasks for what the papers show: graphs, schemas and lists of IRIs."""

from __future__ import annotations

import pytest

from kgbench import config
from kgbench.errors import TaskError
from kgbench.tasks import catalogue


@pytest.mark.parametrize(
    "label",
    ["Text2SparqlExecEvalListCoypuMini-list-iris", "Text2SparqlExecEvalListBeastiary-list-iris"],
)
def test_iris_are_shown_as_a_list(label: str) -> None:
    """The format of IRIs is a list, one in each line; it is refused for graphs and schemas."""
    task = catalogue.labelled_tasks()[label]
    assert (task.parameters["kgInfoType"], task.parameters["kgInfoFormat"]) == ("iris", "list")
    catalogue.check(task)
    for case in catalogue.module(task.task_class).cases(task, "test", 0, 3):
        prompt = catalogue.module(task.task_class).prompt(case)
        assert "\n".join(case.data["iris"]) in prompt
        assert "```turtle" not in prompt
    schema = {"kgInfoType": "schema", "kgInfoFormat": "list"}
    with pytest.raises(TaskError, match="only IRIs are shown as a list: choose kgInfoType iris"):
        catalogue.check(catalogue.make_task(task.task_class, "mine", schema))


@pytest.mark.parametrize("variant", ["", "-jsonld-graph", "-turtle-schema", "-jsonld-schema"])
def test_variants_of_the_papers_have_labels(variant: str) -> None:
    """Each variant of the CoyPu task in table 3 of the journal paper has a label."""
    task = catalogue.labelled_tasks()[f"Text2SparqlExecEvalListCoypuMini{variant}"]
    (case,) = catalogue.module(task.task_class).cases(task, "test", 0, 1)
    kind = "schema" if variant.endswith("schema") else "graph"
    assert case.data["kgInfoType"] == kind
    block = "```json" if "jsonld" in variant else "```turtle"
    assert block in catalogue.module(task.task_class).prompt(case)


def test_a_label_that_is_the_name_of_its_class_selects_one_task() -> None:
    """The label of the published task selects that task alone; a glob selects all variants."""
    name = "Text2SparqlExecEvalListCoypuMini"
    assert [task.label for task in config.quick_start(tasks=[name]).tasks] == [name]
    assert len(config.quick_start(tasks=[f"{name}*"]).tasks) == 5
    assert len(config.quick_start(tasks=["RdfFriendCount"]).tasks) > 1
