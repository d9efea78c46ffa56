# SPDX-License-Identifier: Apache-2.0
"""Running a new model on the cases of an imported suite."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgbench.analysis.leaderboard import leaderboard
from kgbench.cli import app
from kgbench.engine import planning, plans
from kgbench.errors import ConfigurationError, EvaluationError, TaskError
from kgbench.execution import endpoint, pools
from kgbench.execution.judging import JudgeLimits
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import accounts, reading
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.archives import as_json, dialogue_v3, record_v2
from tests.support.reevaluating import reevaluate
from tests.support.runs import dialogues_of, hold, planned
from tests.support.servers.sparql_server import SparqlServer
from tests.support.validation import assert_conforms

SUITE = "llm-kg-bench-3"


@pytest.fixture
def imported():
    """Yield a store with one imported dialogue about one case."""
    with open_store("memory:") as store:
        for run in read_runs(ResultFile("f.json", as_json([dialogue_v3()])), store.iris):
            load(store, run)
        yield store


def plan_of(*labels):
    """Return a plan of the oracle on the imported suite."""
    return planned(labels, "baseline:oracle", iterations=3, suite=SUITE)


def test_published_cases_are_asked_as_they_were_asked(imported):
    """A new model gets the published prompt about the published case, in the published suite."""
    done = hold(imported, plan_of("RdfSyntaxFixList-turtle"))
    (published, live) = sorted(reading.runs(imported), key=lambda run: run.label == "quick-start")
    asked = [*dialogues_of(imported, published), *dialogues_of(imported, live)]
    assert_conforms(imported)

    assert done.finished
    assert len(asked) == 4
    assert len({dialogue.case for dialogue in asked}) == 1
    assert {dialogue.turns[0].prompt for dialogue in asked} == {"Mend this."}
    assert {dialogue.suite.rpartition("/")[2] for dialogue in asked} == {SUITE}


def test_cases_of_other_suites_are_not_taken(imported):
    """Cases of an earlier suite with the same task are not used, because prompts differ."""
    label = "RdfSyntaxFixList-turtle"
    before = planning.stored_exercises(imported, plan_of(label), endpoint=False).exercises
    earlier = record_v2("RdfSyntaxFixList", label=label, version="0.3", texts=("Old?", "Yes."))
    for run in read_runs(ResultFile("g.json", as_json([earlier])), imported.iris):
        load(imported, run)
    after = planning.stored_exercises(imported, plan_of(label), endpoint=False).exercises

    assert len({run.suite for run in reading.runs(imported)}) == 2
    assert [one.prompt for one in after[label]] == [one.prompt for one in before[label]]


def test_task_without_published_cases_is_refused(imported):
    """A task without published cases is refused: own cases do not belong in an imported suite."""
    with pytest.raises(TaskError, match="no cases of RdfFriendCount-turtle-1"):
        hold(imported, plan_of("RdfFriendCount-turtle-1"))
    assert len(reading.runs(imported)) == 1


LABEL = "SparqlSyntaxFixingListLcQuad"
WIKIDATA = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
wd:Q1 wdt:P31 wd:Q7 . wd:Q2 wdt:P31 wd:Q7 .
"""
QUERY = "SELECT ?a { ?a wdt:P31 wd:Q7 }"


@pytest.fixture
def asked_of_wikidata():
    """Yield a store with an imported dialogue about a case with a graph behind an endpoint."""
    record = dialogue_v3(
        label=LABEL,
        version="5.1.2",
        parameters={},
        data={"uid": "mine", "refSparql": QUERY, "refResultSet": ["wd:Q1", "wd:Q2"]},
    )
    record["taskInfo"]["taskId"] = LABEL
    with open_store("memory:") as store:
        for run in read_runs(ResultFile("f.json", as_json([record])), store.iris):
            load(store, run)
        yield store


def test_cases_of_an_endpoint_need_one(asked_of_wikidata):
    """If only an endpoint could judge and none is named, a run is refused before it starts."""
    with pytest.raises(TaskError, match="--endpoint"):
        hold(asked_of_wikidata, plan_of(LABEL))
    assert len(reading.runs(asked_of_wikidata)) == 1


def test_unusable_endpoint_is_refused(asked_of_wikidata):
    """A wrong address is found before anything is asked or written."""
    with pytest.raises(ConfigurationError, match="--endpoint"):
        hold(asked_of_wikidata, plan_of(LABEL), endpoint="ftp://x/")
    assert len(reading.runs(asked_of_wikidata)) == 1


def live_run(store):
    """Return the run that was not imported."""
    return next(run for run in reading.runs(store) if run.label == "quick-start")


def scores_of(store, graph):
    """Return the F1 scores of a pass."""
    found = reading.pass_scores(store, graph)
    return [
        value
        for rounds in found.values()
        for seen in rounds.values()
        for metric, value in seen.scores.items()
        if metric.endswith("/f1measure")
    ]


def test_endpoint_judges_new_answers(asked_of_wikidata):
    """The named endpoint is queried, and its results are kept for judging again."""
    store = asked_of_wikidata
    with SparqlServer(WIKIDATA) as server:
        done = hold(store, plan_of(LABEL), endpoint=server.url)
        asked = len(server.asked)
        server.store.update("DELETE WHERE { <http://www.wikidata.org/entity/Q2> ?p ?o }")
        run = live_run(store)
        limits = JudgeLimits()
        with pools.executor("local:1") as pool:
            by_record = reevaluate(store, run, pool, limits)
            anew = reevaluate(store, run, pool, limits, endpoint=server.url)
    assert_conforms(store)
    live, recorded, later = reading.passes(store, run)

    assert done.finished
    assert asked == 3
    assert scores_of(store, live.graph) == [1.0] * 3
    assert scores_of(store, recorded.graph) == [1.0] * 3
    assert not by_record.comparison.differing
    assert scores_of(store, later.graph) == pytest.approx([2 / 3] * 3)
    assert len(anew.comparison.differing) == 3


def test_silent_endpoint_loses_no_answer(asked_of_wikidata, monkeypatch):
    """A run stops when its endpoint fails; continued, it requests no answer again."""
    monkeypatch.setattr(endpoint, "_ATTEMPTS", 1)
    store = asked_of_wikidata
    with SparqlServer(WIKIDATA) as server:
        server.failures[:] = [(503, {})] * 30
        with pytest.raises(EvaluationError, match="does not answer"):
            hold(store, plan_of(LABEL), endpoint=server.url)
        server.failures.clear()
        run = live_run(store)
        answered = accounts.usage(store, run.graph)
        done = hold(store, plan_of(LABEL), endpoint=server.url)
    assert_conforms(store)

    assert done.finished
    assert answered
    assert done.calls == 3 - sum(one.answers for one in answered.values())
    assert scores_of(store, reading.passes(store, run)[0].graph) == [1.0] * 3


# --- a whole suite ---------------------------------------------------------------------------


def suite_run(store, suite, **selected):
    """Run the oracle over a whole suite and return the run and its report."""
    plan = plans.whole_suite(store, suite, models=["baseline:oracle"], **selected)
    done = hold(store, plan)
    return next(run for run in reading.runs(store) if run.label == plan.name), done


OTHER = {"graphFormat": "turtle", "taskUid": "other", "task": ":c :d", "optimal": ":c :d 1 ."}


def test_a_whole_suite_is_its_labels_and_cases(imported):
    """Without a selection a suite gives each published label, and each of its cases once."""
    record = dialogue_v3(label="RdfSyntaxFixList-mine", data=OTHER)
    for run in read_runs(ResultFile("g.json", as_json([record])), imported.iris):
        load(imported, run)
    before = {d.case: d.task for run in reading.runs(imported) for d in dialogues_of(imported, run)}
    run, done = suite_run(imported, SUITE)
    asked = dialogues_of(imported, run)
    assert_conforms(imported)

    assert done.finished
    assert len(asked) == 2
    assert {d.case: d.task for d in asked} == before


def test_an_older_version_of_a_suite_is_judged_by_todays_rules(tmp_path):
    """An older version of a task is judged by today's rules, beside the published scores."""
    suite = "llm-kg-bench-2"
    label = "Sparql2AnswerListOrgaTurtle"
    name = "Sparql2AnswerListOrganizational"
    record = record_v2(name, label=label, version="2.0")
    with open_store(str(tmp_path / "store")) as store:
        for run in read_runs(ResultFile("f.json", as_json([record])), store.iris):
            load(store, run)
        (earlier,) = {d.task for d in dialogues_of(store, reading.runs(store)[0])}
        run, done = suite_run(store, suite, tasks=["Sparql2*"], iterations=2)
        asked = dialogues_of(store, run)
        assert_conforms(store)
        table = leaderboard(store, select(store, suite=suite))

    assert done.finished
    assert {d.task for d in asked} == {earlier}
    assert len(asked) == 2
    tasks = [column.name for column in table.columns].index("tasks")
    assert {row[tasks] for row in table.rows} == {1}
    assert len(table.rows) == 2


def test_what_cannot_be_executed_is_passed_over(asked_of_wikidata):
    """Tasks that cannot be executed are omitted from a suite with a reason; the rest is asked."""
    store = asked_of_wikidata
    for run in read_runs(ResultFile("g.json", as_json([dialogue_v3()])), store.iris):
        load(store, run)
    run, done = suite_run(store, SUITE)
    asked = dialogues_of(store, run)

    assert done.finished
    assert {reading.task(store, d.task).label for d in asked} == {"RdfSyntaxFixList-turtle"}
    (line,) = done.passed_over
    assert line.startswith(f"{LABEL}: ")
    assert "--endpoint" in line


def test_a_suite_that_was_not_imported_is_refused(imported):
    """A suite without results, or a task that the suite lacks, is refused."""
    with pytest.raises(TaskError, match=r"llm-kg-bench-1 has.* llm-kg-bench PATH` reads .* https:"):
        plans.whole_suite(imported, "llm-kg-bench-1")
    with pytest.raises(TaskError, match=r"fits Nothing\*: "):
        plans.whole_suite(imported, SUITE, tasks=["Nothing*"])


@pytest.mark.external
def test_published_suites_are_asked_as_users_ask_them(external_data, tmp_path):
    """``run --suite`` on imported data uses all labels and cases that can be executed here."""
    store = str(tmp_path / "store")
    files = [str(path) for path in sorted((external_data / "llm-kg-bench-v1").glob("*.json"))]
    runner = CliRunner()
    assert runner.invoke(app, ["import", "llm-kg-bench", *files, "--store", store]).exit_code == 0
    words = ["run", "--suite", "llm-kg-bench-1", "--store", store, "--json", "--model"]
    for model in ("baseline:oracle", "baseline:silent"):
        done = runner.invoke(app, [*words, model])
        assert done.exit_code == 0, done.output
        said = json.loads(done.stdout)
        assert said["complete"] == said["planned"] > 0
        assert [line.partition(":")[0] for line in said["passed_over"]] == ["FactExtractStatic"]
    with open_store(store) as opened:
        assert_conforms(opened)
        runs = reading.runs(opened)
        live = [run for run in runs if run.label.startswith("llm-kg-bench-1: ")]
        new = {(d.task, d.case) for run in live for d in dialogues_of(opened, run)}
        old = {
            (d.task, d.case) for run in runs if run not in live for d in dialogues_of(opened, run)
        }
        labels = {reading.task(opened, task).task_class for task, _ in old - new}

    assert new < old
    assert labels == {"FactExtractStatic"}
