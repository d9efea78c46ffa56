# SPDX-License-Identifier: Apache-2.0
"""Before the first dialogue only the necessary cases are made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgbench.connectors.baseline import Baseline
from kgbench.engine import planning
from kgbench.errors import TaskError
from kgbench.families.RdfFriendCount import judge
from kgbench.record import reading
from kgbench.store import open_store
from kgbench.tasks import catalogue
from tests.support.runs import Stop, hold, planned

MANY = 10_000
FRIENDS = "RdfFriendCount-turtle-1"
WORLDS = (
    "JsonLdContextWorld-opaque-1",
    "Rdf12World-query-opaque-1",
    "RmlMappingWorld-opaque-csv-1",
)
TOOLS = "Text2SparqlToolsWorld-opaque-1-tools"


@pytest.fixture
def made(monkeypatch):
    """Return the list of task classes of the cases that have been made, in order."""
    names = []
    make_case = catalogue.make_case

    def noted(suite, task_class, parameters, data, uid=None):
        names.append(task_class)
        return make_case(suite, task_class, parameters, data, uid)

    monkeypatch.setattr(catalogue, "make_case", noted)
    return names


def made_before_the_first(monkeypatch, made, plan):
    """Run ``plan`` until a dialogue is asked; return the cases made before, and the report."""
    before = []
    stop = Stop()
    ask = Baseline.ask

    async def first(self, request):
        if not before:
            before.extend(made)
            stop.request()
        return await ask(self, request)

    monkeypatch.setattr(Baseline, "ask", first)
    with open_store("memory:") as store:
        done = hold(store, plan, stop=stop)
    return before, done


@pytest.mark.parametrize("models", [["baseline:oracle"], ["baseline:oracle", "baseline:silent"]])
def test_the_first_dialogue_waits_for_its_own_case(monkeypatch, made, models):
    """Of 10,000 cases one is made when the first dialogue is asked, and all are counted."""
    plan = planned(FRIENDS, *models, iterations=MANY)
    before, done = made_before_the_first(monkeypatch, made, plan)

    assert before == ["RdfFriendCount"]
    assert done.planned == MANY * len(models)
    assert done.complete < MANY


def test_other_labels_wait_for_their_turn(monkeypatch, made):
    """Before the first dialogue, its case is made, and one of a task with tools."""
    labels = [FRIENDS, *WORLDS, TOOLS]
    plan = planned(labels, "baseline:oracle", iterations=MANY)
    assert len(plan.tasks) == len(labels)
    before, done = made_before_the_first(monkeypatch, made, plan)

    assert before == ["Text2SparqlToolsWorld", plan.tasks[0].task_class]
    assert done.planned == MANY * len(labels)


def test_whether_tools_are_offered_shows_without_a_prompt(monkeypatch, made):
    """The first case says whether a task offers tools: it is made once, without its schema."""
    label = f"{TOOLS}-and-schema"
    plan = planned(label, "baseline:searcher", iterations=MANY)
    asked = planning.exercises(plan)
    with monkeypatch.context() as patched:
        patched.delattr("kgbench.plugins.agents.graph_tools.schema")
        assert planning.tool_protocols(plan, asked) == {"text": ["baseline:searcher"]}
    assert asked[label][0].case.data["tools"]
    assert made == ["Text2SparqlToolsWorld"]


def test_parameters_that_allow_no_case_are_refused_before_work_starts(monkeypatch):
    """A task that its class does not declare must have a case before a run is recorded."""

    def never(*_):
        raise TaskError("no graph is small enough")

    plan = planned(FRIENDS, "baseline:oracle", iterations=MANY)
    (declared,) = plan.tasks
    other = {**declared.parameters, "size": declared.parameters["size"] + 1}
    task = catalogue.make_task("RdfFriendCount", "friends-of-another-size", other)
    (tools,) = planned(TOOLS, "baseline:oracle").tasks
    monkeypatch.setattr(judge, "shuffled", never)

    with open_store("memory:") as store:
        with pytest.raises(TaskError, match="small enough"):
            hold(store, replace(plan, tasks=(tools, task)))
        assert list(reading.runs(store)) == []
