# SPDX-License-Identifier: Apache-2.0
"""Batches of answers: each gets its own verdict, within its limits."""

from __future__ import annotations

import pytest

from kgbench.execution import judging
from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Case, Outcome
from tests.execution.judging.probing import (
    ENDLESS,
    GREEDY,
    HASTY,
    PATIENT,
    SMALL,
    case,
    judge,
    requests,
)


def test_verdicts_come_back_in_order():
    """Each request gets the verdict on its own answer and case."""
    batch = requests(*(f"echo {number}" for number in range(300)))
    verdicts = judge_batch(batch, PATIENT)
    assert [v.infos["argument"] for v in verdicts] == [str(number) for number in range(300)]
    assert [v.infos["uid"] for v in verdicts] == [request.case.uid for request in batch]
    assert len({v.infos["pid"] for v in verdicts}) == 1
    assert judge_batch([], PATIENT) == []
    [verdict] = judge_batch([JudgeRequest(case(), ("fail x", "echo last"))], PATIENT)
    assert verdict.infos["argument"] == "last"  # the only one of a dialogue that is judged


def test_cases_are_sent_once(monkeypatch):
    """A case is sent with its first request; a changed case with the same IRI is sent again."""
    end_child()
    sent = []
    real = judging.frames.encode

    def noted(message):
        sent.extend([message["case"].uid] if "case" in message else [])
        return real(message)

    monkeypatch.setattr(judging.frames, "encode", noted)
    same = case(7)
    judge_batch([JudgeRequest(same, ("echo",))] * 5, PATIENT)
    judge_batch([JudgeRequest(case(7), ("echo",))] * 5, PATIENT)
    assert sent == ["7"]
    altered = Case(same.iri, "test", "Probe", {}, {"graph": ""}, same.digest, uid="altered")
    [verdict] = judge_batch([JudgeRequest(altered, ("echo",))], PATIENT)
    assert verdict.infos["uid"] == "altered"


def test_equal_answers_are_judged_once():
    """An answer that was just judged has its verdict at once, unless its case was replaced."""
    end_child()
    question = case(8)
    answers = ["echo b", "echo a", "echo b", "echo a"]
    batch = [JudgeRequest(question, (answer,)) for answer in answers]
    verdicts = judge_batch(batch, PATIENT)
    assert verdicts[:2] == verdicts[2:]
    altered = Case(question.iri, "test", "Probe", {}, {"graph": ""}, question.digest, uid="new")
    [verdict] = judge_batch([JudgeRequest(altered, ("echo a",))], PATIENT)
    assert verdict.infos["uid"] == "new"


def test_cases_beyond_what_a_child_remembers(monkeypatch):
    """With more cases than a process caches, every answer is still judged by its own case."""
    monkeypatch.setattr(judging, "_MOST_CASES", 3)
    order = [0, 1, 2, 3, 0, 4, 5, 1, 6, 0, 2]
    verdicts = judge_batch([JudgeRequest(case(n), ("echo",)) for n in order], PATIENT)
    assert [v.infos["uid"] for v in verdicts] == [str(n) for n in order]


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 \udfff",
        "\ud83d\ude00",
        "\U0001f600",
        "\x00\x01\r\n\u2028\ufeff",
        '"\\',
        "ä" * 6_000_000,  # larger than the pipe's buffer
    ],
)
def test_texts_arrive_as_they_are(text):
    """Lone and paired surrogates, NUL and line ends pass through the pipe unchanged."""
    assert judge(f"echo {text}").infos["argument"] == text


@pytest.mark.parametrize(
    ("answer", "message", "task_class"),
    [
        ("fail because", "RuntimeError: because (kgbench_probe.py, line", "Probe"),
        ("quit-python 3", "SystemExit: 3", "Probe"),
        ("recurse", "RecursionError", "Probe"),
        ("no-json", "not JSON", "Probe"),
        ("no-number", "could not convert", "Probe"),
        ("unknown", "KeyError: 'unknown'", "Probe"),
        ("echo", "Nobody cannot be used", "Nobody"),
    ],
)
def test_defects_of_judges_are_reported(answer, message, task_class):
    """An exception is an outcome with type, message and position, and the process continues."""
    wrong = JudgeRequest(case(task_class=task_class), (answer,))
    verdict, after = judge_batch([wrong, *requests("echo b")], PATIENT)
    assert (verdict.outcome, dict(verdict.scores)) == (Outcome.EVALUATOR_ERROR, {})
    assert message in verdict.infos["message"]
    assert after.infos["argument"] == "b"


@pytest.mark.parametrize("engine", ["oxigraph", "rdflib"])
def test_refused_queries_are_recorded_as_such(engine):
    """A query with SERVICE is not run, and the judge sees that it was refused."""
    query = "SELECT * { SERVICE # \n SILENT <http://127.0.0.1:9/> { ?s ?p ?o } }"
    infos = judge(f"query {query}", JudgeLimits(engine=engine)).infos
    assert (infos["refused"], infos["rows"], infos["syntax"]) == (True, 0, None)


def test_an_endless_query_is_ended():
    """The answer has the outcome of the limit, and scores as if the query had no rows."""
    verdict = judge(f"query {ENDLESS}", HASTY)
    assert verdict.outcome == Outcome.TIMEOUT
    assert verdict.scores == {"obeyed": 1.0}
    assert verdict.infos["expired"]
    assert verdict.infos["limit"] == "time"
    assert verdict.infos["syntax"] is None
    assert (verdict.next_prompt, verdict.feedback) == ("again", "empty-result")


VALUES = " ".join(f"VALUES ?v{i} {{ {' 1' * 500} }}" for i in range(9))


@pytest.mark.parametrize(
    ("answer", "limits", "limit", "scored"),
    [
        (f"query {ENDLESS}", JudgeLimits(HASTY.seconds, engine="rdflib"), "time", True),
        (f"query SELECT (COUNT(*) AS ?n) {{ {VALUES} }}", HASTY, "time", True),  # while checking
        *((each, HASTY, "time", False) for each in ("spin", "nap")),
        (f"query-and-dawdle {ENDLESS[:7]} * {{}}", HASTY, "time", False),
        (f"query {GREEDY}", SMALL, "memory", True),
        ("hoard", SMALL, "memory", False),
        ("echo " + "x" * (90 << 20), SMALL, "memory", False),
        ("query SELECT * { FILTER(" + "!" * 200_000 + "true) }", PATIENT, "stack", True),
        ("query SELECT * { {}" + " UNION {}" * 100_000 + " }", PATIENT, "stack", True),
    ],
    ids=[
        *("rdflib", "checking", "spin", "nap", "dawdle"),
        *("greedy", "hoard", "large", "signs", "unions"),
    ],
)
def test_what_exceeds_a_limit_is_ended(answer, limits, limit, scored):
    """A query beyond a limit ends only its child and counts as one without rows.

    An endless or greedy judge is ended without scores, even if it holds the interpreter.
    """
    verdict = judge(answer, limits)
    assert (verdict.outcome, verdict.infos["limit"]) == (Outcome.TIMEOUT, limit)
    assert verdict.infos.get("expired", False) is scored
    assert verdict.scores == ({"obeyed": 1.0} if scored else {})
