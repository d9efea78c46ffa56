# SPDX-License-Identifier: Apache-2.0
"""A list of sizes in a single entry of a configuration gives a task for each of them."""

from __future__ import annotations

from kgbench import config
from kgbench.tasks import catalogue
from tests.support.config_files import changed, write

LISTED = changed(
    "  - RdfFriendCount-turtle-1\n",
    "  - {label: mine, class: RdfFriendCount, params: {graphFormat: turtle, size: [1000, 8000]}}\n"
    "  - {class: TurtleSampleGeneration, params: {size: [10, 20]}}\n",
)


def test_each_listed_size_is_a_task(tmp_path):
    """The size is part of the label and of the parameters, and is recorded."""
    plan = config.load(write(tmp_path, LISTED))
    assert {task.label: task.parameters["size"] for task in plan.tasks} == {
        "mine-1000": 1000,
        "mine-8000": 8000,
        "TurtleSampleGeneration-10": 10,
        "TurtleSampleGeneration-20": 20,
    }
    again = config.load(write(tmp_path, plan.source_ttl, "recorded.ttl"))
    assert again == plan


def test_sizes_of_the_run_leave_listed_ones_alone(tmp_path):
    """Sizes of an entry take precedence over those of the run."""
    plan = config.load(write(tmp_path, LISTED + "sizes: [4000, 5000]\n"))
    assert [task.parameters["size"] for task in plan.tasks] == [1000, 8000, 10, 20]


def test_each_wrong_size_is_named(tmp_path):
    """A size that is invalid, too small, or given to a task without sizes has a finding."""
    wrong = LISTED.replace("[10, 20]", "[2, many]").replace("RdfFriendCount", "RdfSyntaxFixList")
    found = [str(one) for one in config.validate(write(tmp_path, wrong))]
    assert ["/params/size:" in one for one in found] == [True] * 3, found
    assert "no parameter 'size'" in found[0]
    assert "at least 3" in found[1]
    assert "'many'" in found[2]


def test_a_task_that_has_a_size_of_its_own_keeps_it(tmp_path, monkeypatch):
    """A label that another package declares with a size has only that size."""
    theirs = catalogue.make_task("RdfFriendCount", "theirs", {"size": 800})
    monkeypatch.setattr(catalogue, "labelled_tasks", lambda: {"theirs": theirs})
    path = write(tmp_path, changed("RdfFriendCount-turtle-1", "theirs") + "sizes: [4000, 5000]\n")
    plan = config.load(path)
    assert [(task.label, task.parameters["size"]) for task in plan.tasks] == [("theirs", 800)]


def test_sizes_of_the_run_are_refused_where_a_task_cannot_have_them(tmp_path):
    """A size of the run is refused for a class that cannot have it (8,000 persons)."""
    wrong = changed(
        "  - RdfFriendCount-turtle-1\n",
        "  - RdfFriendCount-turtle-1\n  - class: TurtleSampleGeneration\nsizes: [1000, 8000]\n",
    )
    found = [str(one) for one in config.validate(write(tmp_path, wrong))]
    assert len(found) == 2
    assert all("must be at least 3 and at most 200 persons" in one for one in found), found
    assert ["8000" in one for one in found] == [False, True]


def test_a_size_is_refused_that_does_not_go_with_other_parameters(tmp_path):
    """A size that does not fit the other parameters is refused before any call."""
    params = "{size: 600, knowsCount: 2}"
    wrong = LISTED.replace("{graphFormat: turtle, size: [1000, 8000]}", params)
    (found,) = [str(one) for one in config.validate(write(tmp_path, wrong))]
    assert "/params/size:" in found
    assert "needs a size of at least 764 characters, but size is 600" in found
