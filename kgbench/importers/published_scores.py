# SPDX-License-Identifier: Apache-2.0
"""Conversion of scores and infos of an LLM-KG-Bench record to evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgbench.importers.metrics import MetricNames, declared_class, range_error
from kgbench.importers.records import Record, Scores, round_number
from kgbench.model import Dialogue, Evaluation, Json, Outcome, Turn
from kgbench.record.recorder import Recorder

_UNJUDGED = Outcome.EVALUATOR_ERROR  # without scores: the evaluation was aborted
_SYNTAX = ("parsableSyntax", "answerParse")
_CONVERTED = frozenset(
    ("startTime", "duration", "modelId", "taskInfo", "taskData", "scores", "info", "interactions")
)
_CONVERTED_OF_TASK = frozenset(
    ("taskId", "taskLabel", "version", "gitCommit", "taskParameter", "condensedTaskData")
)


def evaluations(
    record: Record, dialogue: Dialogue, recorder: Recorder, metrics: MetricNames
) -> tuple[Evaluation, ...]:
    """Return the published evaluations of a dialogue: of its answers, then of the dialogue."""
    others = _unconverted_fields(record)
    if record.missing:
        others["missingScores"] = dict(record.missing)
    published = {"published": others} if others else {}
    k = len(record.exchanges) - 1
    flat = record.flat
    if flat is not None and (flat or record.missing or _has_one_answer(record)):
        return (
            Evaluation(
                iri=recorder.evaluation_iri(dialogue.iri, k),
                dialogue=dialogue.iri,
                round=k,
                outcome=_outcome(dialogue.turns[k], flat),
                scores=_by_metric(record, flat, metrics),
                infos={**record.infos, **published},
            ),
        )
    nested = {str(k): {}} if record.nested is None else record.nested
    rounds = sorted(k for k in map(round_number, nested) if k is not None)
    results = [
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, k),
            dialogue=dialogue.iri,
            round=k,
            outcome=_outcome(dialogue.turns[k], nested[str(k)]),
            scores=_by_metric(record, nested[str(k)], metrics),
            infos=_round_infos(record, k),
        )
        for k in rounds
    ]
    dialogue_scores: dict[str, float] = {}
    for group, scores in nested.items():
        if round_number(group) is None:
            dialogue_scores |= _by_metric(record, scores, metrics, group)
    results.append(
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, None),
            dialogue=dialogue.iri,
            round=None,
            outcome=_dialogue_outcome(results, dialogue_scores),
            scores=dialogue_scores,
            infos={**_dialogue_infos(record, rounds), **published},
        )
    )
    return tuple(results)


def within_ranges(record: Record) -> Record:
    """Move the scores outside the range that their metric declares to the ``missing`` ones."""
    declared = declared_class(record.task_class, record.version)
    if declared is None:
        return record
    missing = dict(record.missing)

    def inside(scores: Scores, field: str, prefix: str = "") -> Scores:
        errors = {
            name: range_error(declared.metrics.get(f"{prefix}{name}"), value)
            for name, value in scores.items()
        }
        missing.update({f"{field}.{name}": why for name, why in errors.items() if why is not None})
        return {name: value for name, value in scores.items() if errors[name] is None}

    flat = None if record.flat is None else inside(record.flat, "scores")
    nested = (
        None
        if record.nested is None
        else {
            group: inside(
                scores, f"scores.{group}", "" if round_number(group) is not None else f"{group}_"
            )
            for group, scores in record.nested.items()
        }
    )
    return replace(record, flat=flat, nested=nested, missing=missing)


def _has_one_answer(record: Record) -> bool:
    """Return whether a record without any scores is surely one of a task with a single answer."""
    declared = declared_class(record.task_class, record.version)
    return declared is not None and declared.max_rounds == 1


def feedback_after(scores: Scores) -> str | None:
    """Return the kind of feedback that the framework gives to an answer with ``scores``.

    It is the first fault in the order of the framework's checks: syntax, content, formatting of an
    RDF document; syntax or an empty result of a query. ``None`` for other tasks.
    """
    if any(scores.get(name) == 0 for name in _SYNTAX):
        return "syntax"
    if "answerParse" in scores:
        return "empty-result"
    if "parsableSyntax" in scores:
        return "content" if scores.get("contentF1") != 1 else "format"
    return None


def _by_metric(
    record: Record, scores: Scores, metrics: MetricNames, aggregation: str | None = None
) -> dict[str, float]:
    task_class, version = record.task_class, record.version
    return {
        metrics.iri(task_class, version, name, aggregation): value for name, value in scores.items()
    }


def _outcome(turn: Turn, scores: Scores) -> Outcome:
    """Derive the outcome of an answer from the published scores."""
    if not scores:
        return _UNJUDGED
    if not (turn.answer or "").strip():
        return Outcome.EMPTY
    unparsable = any(scores.get(name) == 0 for name in _SYNTAX)
    return Outcome.UNPARSABLE if unparsable else Outcome.SCORED


def _dialogue_outcome(answers: Sequence[Evaluation], scores: Scores) -> Outcome:
    """Return the outcome of the last answer, or if the dialogue has scores, the last judged one."""
    relevant = [answer for answer in answers if answer.scores or not scores]
    if relevant:
        return relevant[-1].outcome
    return Outcome.SCORED if scores else _UNJUDGED


def _round_infos(record: Record, k: int) -> Mapping[str, Json]:
    infos = record.infos.get(str(k))
    return infos if isinstance(infos, dict) else {}


def _dialogue_infos(record: Record, rounds: list[int]) -> dict[str, Json]:
    """Return the infos of the dialogue: all but those of rounds and a ``last`` that repeats one."""
    round_keys = {str(k) for k in rounds if isinstance(record.infos.get(str(k)), dict)}
    infos = {key: value for key, value in record.infos.items() if key not in round_keys}
    if rounds and infos.get("last") == record.infos.get(str(rounds[-1])):
        infos.pop("last", None)
    return infos


def _unconverted_fields(record: Record) -> dict[str, Json]:
    """Return the fields of a record that are not converted to anything else."""
    raw = record.raw
    task = raw["taskInfo"]
    fields = {key: raw[key] for key in raw.keys() - _CONVERTED if raw[key] is not None}
    fields |= {key: task[key] for key in task.keys() - _CONVERTED_OF_TASK if task[key] is not None}
    condensed = task.get("condensedTaskData")
    if condensed is not None and condensed != raw.get("taskData"):
        fields["condensedTaskData"] = condensed
    return fields
