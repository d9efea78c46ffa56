# SPDX-License-Identifier: Apache-2.0
"""Scores and infos of a record of LLM-KG-Bench -> evaluations."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.importers.metrics import MetricNames
from kgbench.importers.records import Record, Scores, round_number
from kgbench.model import Dialogue, Evaluation, Json, Outcome, Turn
from kgbench.record import Recorder, outcome_of

_UNJUDGED = Outcome.EVALUATOR_ERROR  # a record without any score: the framework broke off
_SYNTAX = ("parsableSyntax", "answerParse")
_USED = frozenset(
    ("startTime", "duration", "modelId", "taskInfo", "taskData", "scores", "info", "interactions")
)
_USED_OF_TASK = frozenset(
    ("taskId", "taskLabel", "version", "gitCommit", "taskParameter", "condensedTaskData")
)


def evaluations(
    record: Record, dialogue: Dialogue, recorder: Recorder, metrics: MetricNames
) -> tuple[Evaluation, ...]:
    """The published evaluations of a dialogue: first of its answers, then of the whole."""
    rest = _rest(record)
    published = {"published": rest} if rest else {}
    if record.flat is not None:
        k = len(record.exchanges) - 1
        return (
            Evaluation(
                iri=recorder.evaluation_iri(dialogue.iri, k),
                dialogue=dialogue.iri,
                round=k,
                outcome=_judged(dialogue.turns[k], record.flat) if record.flat else _UNJUDGED,
                scores=_named(record, record.flat, metrics),
                infos={**record.infos, **published},
            ),
        )
    assert record.nested is not None
    rounds = sorted(k for k in map(round_number, record.nested) if k is not None)
    found = [
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, k),
            dialogue=dialogue.iri,
            round=k,
            outcome=_judged(dialogue.turns[k], record.nested[str(k)]),
            scores=_named(record, record.nested[str(k)], metrics),
            infos=_round_infos(record, k),
        )
        for k in rounds
    ]
    whole: dict[str, float] = {}
    for group, scores in record.nested.items():
        if round_number(group) is None:
            whole |= _named(record, scores, metrics, group)
    found.append(
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, None),
            dialogue=dialogue.iri,
            round=None,
            outcome=found[-1].outcome if found else Outcome.SCORED,
            scores=whole,
            infos={**_dialogue_infos(record, rounds), **published},
        )
    )
    return tuple(found)


def feedback_after(scores: Scores) -> str | None:
    """The kind of feedback that follows an answer with ``scores``, where the dialogue went on.

    It is the first thing that was wrong, in the order in which the framework asks again: syntax,
    content, formatting of an RDF document; syntax or an empty result of a query.
    """
    if any(scores.get(name) == 0 for name in _SYNTAX):
        return "syntax"
    if "answerParse" in scores:
        return "empty-result"
    if "parsableSyntax" in scores:
        return "content" if scores.get("contentF1") != 1 else "format"
    return None


def _named(
    record: Record, scores: Scores, metrics: MetricNames, aggregation: str | None = None
) -> dict[str, float]:
    task_class, version = record.task_class, record.version
    return {
        metrics.iri(task_class, version, name, aggregation): value for name, value in scores.items()
    }


def _judged(turn: Turn, scores: Scores) -> Outcome:
    """How an answer ended, as far as the published scores say it."""
    if not (turn.answer or "").strip():
        return outcome_of(turn, Outcome.EMPTY)
    unparsable = any(scores.get(name) == 0 for name in _SYNTAX)
    return outcome_of(turn, Outcome.UNPARSABLE if unparsable else Outcome.SCORED)


def _round_infos(record: Record, k: int) -> Mapping[str, Json]:
    found = record.infos.get(str(k))
    return found if isinstance(found, dict) else {}


def _dialogue_infos(record: Record, rounds: list[int]) -> dict[str, Json]:
    """The infos that are not those of an evaluated round, without ``last`` where it repeats one."""
    taken = {str(k) for k in rounds if isinstance(record.infos.get(str(k)), dict)}
    found = {key: value for key, value in record.infos.items() if key not in taken}
    if rounds and found.get("last") == record.infos.get(str(rounds[-1])):
        found.pop("last", None)
    return found


def _rest(record: Record) -> dict[str, Json]:
    """What a record says beyond the fields that have a place of their own."""
    raw = record.raw
    task = raw["taskInfo"]
    rest = {key: raw[key] for key in raw.keys() - _USED if raw[key] is not None}
    rest |= {key: task[key] for key in task.keys() - _USED_OF_TASK if task[key] is not None}
    condensed = task.get("condensedTaskData")
    if condensed is not None and condensed != raw.get("taskData"):
        rest["condensedTaskData"] = condensed
    return rest
