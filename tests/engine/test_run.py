# SPDX-License-Identifier: Apache-2.0
"""Runs: their records, their continuation, and failures of a provider."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kgbench.analysis.run_totals import totals
from kgbench.config.specs import model_setup
from kgbench.engine import planning, run, run_to_continue
from kgbench.errors import ModelSpecError, StoreError, TaskError
from kgbench.execution.pools import executor
from kgbench.model import Outcome
from kgbench.record import accounts, reading
from kgbench.record.recorder import Recorder
from kgbench.store import open_store
from kgbench.tasks import catalogue
from tests.support.runs import dialogues_of, hold, planned
from tests.support.servers import scripts
from tests.support.validation import assert_conforms

LABELS = ["RdfFriendCount-turtle-1", "RdfConnectionExplainStatic-nt", "RdfSyntaxFixList-turtle"]
FAILURES = """
PREFIX kgb: <https://w3id.org/kgbench/ns#>
SELECT ?outcome WHERE { GRAPH ?g { ?call a kgb:ModelCall ; kgb:outcome ?outcome } }
"""
CALLS = """
PREFIX kgb: <https://w3id.org/kgbench/ns#>
SELECT (COUNT(?call) AS ?n) WHERE { GRAPH ?g { ?call a kgb:ModelCall } }
"""


def plan_of(*specs, iterations=2, labels=None):
    """Return the quick start with other models."""
    fields = {"max_retries": 2, "call_timeout": 60.0}
    return planned(labels or LABELS, *specs, iterations=iterations, **fields)


def number(store, query):
    """Return the one number of a query's result."""
    return int(next(iter(store.query(query)))["n"].value)


def test_every_graph_of_a_run_conforms():
    """The graphs of a run of good, damaged and empty answers conform to the shapes."""
    with open_store("memory:") as store:
        plan = plan_of("baseline:oracle", "baseline:noisy?rate=0.7&seed=3", "baseline:silent")
        done = hold(store, plan)

        assert done.finished
        assert done.planned == 18
        assert_conforms(store)


@pytest.mark.parametrize("remembered", [1, 4])
def test_entries_that_were_forgotten_are_written_again(monkeypatch, remembered):
    """A run that remembers few of its catalogue entries has the same catalogue and executions."""
    contents = []
    for most in (remembered, 1_000):
        monkeypatch.setattr("kgbench.engine.run._REMEMBERED", most)
        with open_store("memory:") as store:
            hold(store, plan_of("baseline:oracle", "baseline:silent"))
            assert_conforms(store)
            (found,) = reading.runs(store)
            # Registrations of graphs name the graphs of one run.
            lines = map(str, store.triples(store.iris.catalogue))
            recorded = {line for line in lines if "/graph/" not in line}
            executions = {(e.model, e.task) for e in reading.executions(store, found.graph)}
            contents.append((recorded, executions))
    assert contents[0][0] ^ contents[1][0] == set()
    assert contents[0][1] == contents[1][1]
    assert len(contents[0][1]) == 6


def test_same_command_continues_and_calls_nothing_twice(loopback):
    """A complete run makes no calls; with more iterations only new dialogues are asked."""
    server, spec = loopback()
    with open_store("memory:") as store:
        first = hold(store, plan_of(spec, iterations=2))
        asked = len(server.ledger)
        again = hold(store, plan_of(spec, iterations=2))
        more = hold(store, plan_of(spec, iterations=3))
        runs = reading.runs(store)

    assert first.finished
    assert (again.before, again.complete, again.calls) == (6, 0, 0)
    assert more.before == 6
    assert more.complete == 3
    assert more.calls == len(server.ledger) - asked
    assert len(runs) == 1


def test_a_label_may_name_another_model_in_a_later_session():
    """Two models with one label have task executions, counts and rows of their own."""
    plan = plan_of("baseline:silent", iterations=2, labels=LABELS[:1])
    setups = [model_setup(spec, "Same") for spec in ("baseline:oracle", "baseline:silent")]
    with open_store("memory:") as store:
        for setup in (*setups, setups[0]):
            done = hold(store, replace(plan, models=(setup,)))
        (found,) = reading.runs(store)
        executions = reading.executions(store, found.graph)
        counted = accounts.progress(store, [found.graph])[found.iri]
        answers = {name: used["answers"] for name, used in totals(store, found)["models"].items()}

    assert (done.before, done.calls) == (2, 0)
    assert len({execution.iri for execution in executions}) == len(executions) == 2
    assert sum(states["complete"] for states in counted.values()) == 4
    ends = [setup.iri.rpartition("/")[2] for setup in setups]
    assert answers == {f"Same [{end}]": 2 for end in ends}


def test_executor_that_is_given_ends_with_the_session():
    """The given executor ends with the session, and the thread switch interval is restored."""
    between, seen = sys.getswitchinterval, []
    usual = between()
    judges = executor("local:1")

    with run._short_switch_interval(), open_store("memory:") as store:
        plan = plan_of("baseline:oracle", iterations=1, labels=LABELS[:1])
        done = hold(store, plan, executor=judges, watch=lambda _: seen.append(between()))
        seen.append(between())  # another session goes on

    assert done.complete == 1
    assert max(seen) < usual == between()
    with pytest.raises(RuntimeError, match="after shutdown"):
        judges.submit(print)


def test_only_a_live_run_of_the_same_name_and_suite_is_continued():
    """A run is continued only if its suite and name are the same and it is live."""
    with open_store("memory:") as store:
        plan = plan_of("baseline:silent", iterations=1, labels=LABELS[:1])
        hold(store, plan)
        (info,) = reading.runs(store)
        assert run_to_continue(store, plan) == info
        assert run_to_continue(store, replace(plan, name="another")) is None
        assert run_to_continue(store, replace(plan, suite="another")) is None
        recorder = Recorder(store.iris, "ffff", "fffe")  # newer than any other run
        suite = store.iris.mint("suite", suite=plan.suite)
        now, agent = datetime.now(UTC), "urn:agent"
        store.write(recorder.run_blocks(label=plan.name, suite=suite, started=now))
        store.write(
            recorder.pass_blocks(kind="recorded", started=now, agent=agent, engine="oxigraph")
        )
        assert {one.label for one in reading.runs(store)} == {plan.name}
        assert run_to_continue(store, plan) == info


def test_iterations_per_case_are_those_of_each_case():
    """Every case is asked equally often, whatever the number of cases of a task."""
    plan = plan_of("baseline:oracle", iterations=3, labels=LABELS[:2])
    few, many = planning.exercises(plan).values()
    asked = {LABELS[0]: [few[0]], LABELS[1]: [many[k] for k in range(3)]}
    each = replace(plan, iterations=2, iterations_per_case=True)
    made = list(planning.planned_dialogues(each, asked, plan.models[0]))

    assert planning.dialogue_count(each, asked) == len(made) == 2 * (1 + 3)
    assert len({one.digest for one in made}) == len(made)
    assert Counter(one.exercise.case.iri for one in made) == {
        exercise.case.iri: 2 for exercises in asked.values() for exercise in exercises
    }


def test_transient_failures_are_retried(loopback):
    """A 429, a 500 and a cut connection are retried, and the retries are recorded."""
    script = scripts.sequence(scripts.RATE_LIMIT, scripts.SERVER_ERROR, scripts.CUT)
    _, spec = loopback(script)
    with open_store("memory:") as store:
        done = hold(store, replace(plan_of(spec, iterations=1, labels=LABELS[:1]), max_retries=5))
        retries = list(
            store.query(
                "SELECT ?n WHERE { GRAPH ?g { ?c <https://w3id.org/kgbench/ns#retries> ?n } }"
            )
        )

    assert done.finished
    assert [int(row["n"].value) for row in retries] == [3]


def test_failed_dialogues_are_asked_again_and_earlier_attempts_stay(loopback):
    """A failing provider leaves dialogues open; the next session completes them."""
    server, spec = loopback(scripts.sequence(*[scripts.SERVER_ERROR] * 9))
    with open_store("memory:") as store:
        plan = plan_of(spec, iterations=3, labels=LABELS[:1])
        first = hold(store, plan)
        failed = list(store.query(FAILURES))
        second = hold(store, plan)
        calls = number(store, CALLS)
        assert_conforms(store)

    assert (first.complete, first.failed) == (0, 3)
    assert {row["outcome"].value.rpartition("/")[2] for row in failed} == {"provider-error"}
    assert (second.before, second.complete) == (0, 3)
    assert second.finished
    assert calls == 6
    assert len(server.ledger) == 12


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (scripts.REFUSAL, Outcome.REFUSED),
        (scripts.TRUNCATION, Outcome.TRUNCATED),
        (scripts.CONTEXT, Outcome.CONTEXT_TOO_LONG),
        (scripts.EMPTY_TEXT, Outcome.EMPTY),
    ],
)
def test_final_outcomes_are_recorded_and_not_asked_again(loopback, kind, outcome):
    """A refused, truncated or too long conversation is an outcome, and is not asked again."""
    server, spec = loopback(scripts.always(kind))
    with open_store("memory:") as store:
        plan = plan_of(spec, iterations=1, labels=LABELS[:1])
        first = hold(store, plan)
        asked = len(server.ledger)
        second = hold(store, plan)
        found = store.query(FAILURES.replace("?call a kgb:ModelCall ;", "?any"))
        outcomes = {row["outcome"].value.rpartition("/")[2] for row in found}
        assert_conforms(store)

    assert first.finished
    assert second.complete == 0
    assert len(server.ledger) == asked
    assert outcome in outcomes


def test_a_model_that_refuses_the_key_is_asked_no_more(loopback):
    """A wrong key costs a few calls, not one for every dialogue."""
    server, spec = loopback(scripts.always(scripts.UNAUTHORISED))
    with open_store("memory:") as store:
        plan = replace(plan_of(spec, iterations=50, labels=LABELS[:1]), concurrency=2)
        done = hold(store, plan)

    assert not done.finished
    assert done.stopped_models
    assert len(server.ledger) < 10


@pytest.mark.parametrize(
    "answer",
    [
        "\x00\x01\x02 NUL and \x1b[31m escapes \x7f",
        "lone \ud800 surrogate \udfff",
        "".join(map(chr, range(256))),
        "x" * 10_000_000,
        "",
    ],
    ids=["nul", "surrogates", "binary", "10MB", "empty"],
)
def test_any_answer_is_kept_exactly(loopback, answer):
    """Any answer is recorded, judged and read back character by character."""
    _, spec = loopback(answer=lambda _: answer)
    with open_store("memory:") as store:
        done = hold(store, plan_of(spec, iterations=1, labels=LABELS[:1]))
        (info,) = reading.runs(store)
        (dialogue,) = dialogues_of(store, info)
        assert_conforms(store)

    assert done.finished
    assert dialogue.answers == (answer,)


def test_thinking_aloud_is_kept_and_not_judged(loopback):
    """With a declared extraction, reasoning is recorded separately, and the rest is the answer."""
    said = "<think>It is person 4.</think>\nhttp://example.org/people/person-00000004"
    _, spec = loopback(answer=lambda _: said)
    with open_store("memory:") as store:
        plan = plan_of(f"{spec}?extraction=think-block/1", iterations=1, labels=LABELS[:1])
        done = hold(store, plan)
        (info,) = reading.runs(store)
        (dialogue,) = dialogues_of(store, info)
        texts = {
            row["v"].value
            for row in store.query(
                "SELECT ?v WHERE { GRAPH ?g { ?t a <https://w3id.org/kgbench/ns#Text> ; "
                "<http://www.w3.org/ns/prov#value> ?v } }"
            )
        }
        assert_conforms(store)

    assert done.finished
    assert dialogue.answers == ("http://example.org/people/person-00000004",)
    assert {said, "It is person 4."} < texts


def test_unknown_run_names_those_there_are():
    """An unknown run is refused with a list of the others."""
    with open_store("memory:") as store:
        with pytest.raises(StoreError, match="no run yet"):
            reading.find_run(store, None)
        hold(store, plan_of("baseline:silent", iterations=1, labels=LABELS[:1]))
        with pytest.raises(StoreError, match=r"names no run.*quick-start"):
            reading.find_run(store, "nonsense")

        assert reading.find_run(store, "quick-start") == reading.find_run(store, None)


def test_what_cannot_be_asked_is_refused_before_anything_is_written(monkeypatch):
    """A model without its key, and a task without cases in the suite, leave no run."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = plan_of("baseline:silent", iterations=1, labels=LABELS[:1])
    with open_store("memory:") as store:
        with pytest.raises(ModelSpecError, match="needs a key"):
            hold(store, plan_of("openai:gpt-5-mini"))
        monkeypatch.setattr(catalogue.module(plan.tasks[0].task_class), "cases", lambda *_: [])
        with pytest.raises(TaskError, match="no cases"):
            hold(store, plan)
        assert reading.runs(store) == []
