# SPDX-License-Identifier: Apache-2.0
"""Judging the published answers gives the published scores, infos and kinds of feedback."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kgbench.datasets import home
from kgbench.execution.engines import engine
from kgbench.model import Case, Executor, TaskClass, Verdict
from kgbench.scoring.formulas import aggregate
from kgbench.tasks import catalogue, graphs
from kgbench.testing.judging import PlainExecutor
from tests.support import published

pytestmark = pytest.mark.external

# infos of published records with the framework's own wording, or derived from it
NOT_COMPARED = {"rdfStringDiff", "brevityLenDiff", "syntaxError", "triples", "graphSizeChar"}
NOT_COMPARED |= {"diffSparql", "EvaluationException"}

RDF = {"RdfConnectionExplainStatic": 320, "RdfFriendCount": 640, "RdfSyntaxFixList": 240}
LISTS = {"Sparql2AnswerListOrganizational": 160, "Text2AnswerListOrganizational": 160}
QUERIES = {
    "SparqlSyntaxFixingListLcQuad": 80,
    "Text2SparqlExecEvalListCoypuMini": 80,
    "Text2SparqlExecEvalListOrgaNumerical": 80,
    "Text2SparqlExecEvalListOrganizational": 80,
}
LARGE = {"Text2SparqlExecEvalListBeastiary": 240}

OWN = {"exact"}  # scores that were not published
_PRINTED = re.compile(r"```turtle[ \t]*\n(.*?)\n?```", re.DOTALL)


def case_of(record: published.Record) -> Case:
    """Return the case of a record, with missing data taken from other parts of the record."""
    info = record["taskInfo"]
    task = catalogue.make_task(info["taskId"], info["taskLabel"], info["taskParameter"])
    data = dict(record["taskData"])
    if task.task_class.endswith("CoypuMini"):
        printed = _PRINTED.search(published.prompts(record)[0])
        assert printed is not None
        data["graph"] = printed[1]
    if task.task_class.endswith("LcQuad"):
        keys = ("answerSet", "answerSetSize", "answerResultLength")
        data["recordedResults"] = {
            infos["sparql"]: {key: infos[key] for key in keys}
            for _, infos in published.rounds(record)
            if "answerSet" in infos
        }
    return catalogue.make_case("llm-kg-bench-3", task.task_class, task.parameters, data)


def judged(record: published.Record, executor: Executor) -> tuple[TaskClass, list[Verdict]]:
    """Return the verdicts on the answers of ``record``, as in a re-evaluation."""
    case, answers = case_of(record), published.answers(record)
    judge = catalogue.module(case.task_class).judge
    verdicts = [judge(case, answers[: k + 1], executor) for k in range(len(answers))]
    return catalogue.task_class(case.task_class), verdicts


def differing(record: published.Record, executor: Executor) -> list[str]:
    """Return the differences when the dialogue of ``record`` is judged again."""
    task_class, verdicts = judged(record, executor)
    found = []
    ours = [{k: v for k, v in verdict.scores.items() if k not in OWN} for verdict in verdicts]
    for k, (scores, infos) in enumerate(published.rounds(record)):
        verdict = verdicts[k]
        found += [f"{k}_{name}" for name in _unequal(scores, ours[k])]
        found += [
            f"{k} info {name}"
            for name, value in infos.items()
            if name not in NOT_COMPARED
            and not name.startswith("parseError")
            and verdict.infos.get(name, "absent") != value
        ]
        if (verdict.next_prompt is None) != (k == len(verdicts) - 1):
            found.append(f"{k} goes on or stops")
    names = {
        name
        for name, metric in task_class.metrics.items()
        if metric.aggregation is not None and name.partition("_")[2] not in OWN
    }
    aggregates = aggregate(ours, names, task_class.max_rounds)
    return found + list(_unequal(published.aggregates(record), aggregates))


def _unequal(theirs: dict[str, float], ours: Any) -> list[str]:
    return [
        name
        for name in sorted({*theirs, *ours})
        if name not in theirs or name not in ours or abs(theirs[name] - ours[name]) > 1e-9
    ]


def comparison(
    external_data: Path, expected: dict[str, int], executor: Executor
) -> dict[tuple[str, int, str], list[str]]:
    """Return the differences by archive, record and class over all dialogues of ``expected``."""
    seen: Counter[str] = Counter()
    found = {}
    for archive in published.archives(external_data):
        for number, record in enumerate(published.records(archive)):
            name = record["taskInfo"]["taskId"]
            if name in expected:
                seen[name] += 1
                what = differing(record, executor)
                if what:
                    found[archive.name, number, name] = what
    assert seen == expected
    return found


def test_rdf_tasks_are_judged_as_published(external_data: Path) -> None:
    """All 1,200 dialogues of the three RDF classes have the published scores within 1e-9."""
    assert comparison(external_data, RDF, PlainExecutor()) == {}


def test_answer_lists_are_judged_as_published(external_data: Path) -> None:
    """All 320 dialogues of the answer lists have the published scores and infos."""
    assert comparison(external_data, LISTS, PlainExecutor()) == {}


def test_queries_are_judged_as_published_by_the_same_engine(external_data: Path) -> None:
    """With rdflib, the original engine, all dialogues about queries have the published scores.

    Dialogues about the large graph have a separate test with limits: some queries never end.
    """
    assert comparison(external_data, QUERIES, engine("rdflib")) == {}


def test_queries_are_judged_nearly_as_published_by_default(
    external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the default engine, at most 1 % of the 2,080 dialogues differ from the published."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    graphs.install(external_data / "text2sparql")
    found = comparison(external_data, QUERIES | LARGE, engine("oxigraph"))
    assert len(found) <= 20, found


def kinds_of_feedback(external_data: Path, classes: dict[str, int]) -> list[str]:
    """Return kgbench's kinds of feedback for each opening of published feedback."""
    kinds: dict[str, set[str]] = {}
    for archive in published.archives(external_data):
        for record in published.records(archive):
            if record["taskInfo"]["taskId"] in classes:
                _, verdicts = judged(record, engine("rdflib"))
                for opening, verdict in zip(published.openings(record), verdicts, strict=False):
                    kinds.setdefault(opening, set()).add(str(verdict.feedback))
    return sorted(kind for each in kinds.values() for kind in each)


def test_published_feedback_is_of_the_same_kind(external_data: Path) -> None:
    """Each opening of published feedback belongs to exactly one kind of kgbench's feedback."""
    fixing = {"RdfSyntaxFixList": 240}
    assert kinds_of_feedback(external_data, fixing) == ["content", "format", "syntax"]
    assert kinds_of_feedback(external_data, QUERIES) == ["empty-result", "syntax"]
