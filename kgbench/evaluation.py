# SPDX-License-Identifier: Apache-2.0
"""Evaluations made from verdicts, for live runs, resumed runs and re-evaluations alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from kgbench.model import Dialogue, Evaluation, TaskClass, Verdict
from kgbench.scoring.formulas import aggregate
from kgbench.tasks import catalogue


def answer_evaluation(
    task_class: TaskClass,
    dialogue: Dialogue,
    k: int,
    verdict: Verdict,
    iri: str,
    *,
    revises: str | None = None,
) -> Evaluation:
    """Return the evaluation of answer ``k``, which ``revises`` an earlier one (IRI), if any.

    The outcome is the judge's; that which the provider reported stands with the call. A task
    class may have a verdict for such an answer, which is not finished: ``UNFINISHED``.
    """
    calls = dialogue.turns[k].calls
    reply = calls[-1].reply if calls else None
    if reply is not None and reply.outcome is not None:
        verdict = getattr(catalogue.module(task_class.name), "UNFINISHED", verdict)
    return Evaluation(
        iri=iri,
        dialogue=dialogue.iri,
        round=k,
        outcome=verdict.outcome,
        scores=scores_by_iri(task_class, verdict.scores),
        infos=verdict.infos,
        revises=revises,
    )


def dialogue_evaluation(
    task_class: TaskClass,
    dialogue: Dialogue,
    verdicts: Sequence[Verdict],
    iri: str,
    *,
    revises: str | None = None,
) -> Evaluation | None:
    """Return the evaluation of a whole dialogue, or ``None`` if the task class has only one round.

    Scores are aggregated by :mod:`kgbench.scoring.formulas` over the answers. A dialogue that
    ends with a prompt too long for the model keeps the answers before it. A dialogue with a round
    that could not be judged (evaluator error, timeout without scores) has the outcome of that round
    and no scores.
    """
    if task_class.max_rounds == 1 or not verdicts:
        return None
    verdicts = verdicts[: len(dialogue.judged)] or verdicts
    unjudged = [v.outcome for v in verdicts if not v.scores]
    names = {m.name for m in task_class.metrics.values() if m.aggregation is not None}
    scores = (
        {} if unjudged else aggregate([v.scores for v in verdicts], names, task_class.max_rounds)
    )
    return Evaluation(
        iri=iri,
        dialogue=dialogue.iri,
        round=None,
        outcome=unjudged[0] if unjudged else verdicts[-1].outcome,
        scores=scores_by_iri(task_class, scores),
        infos={"multiShotCount": len(verdicts)},
        revises=revises,
    )


def evaluations(
    task_class: TaskClass,
    dialogue: Dialogue,
    verdicts: Sequence[Verdict],
    mint: Callable[[str, int | None], str],
    latest: Mapping[tuple[str, int | None], str] = MappingProxyType({}),
) -> list[Evaluation]:
    """Return all evaluations of a dialogue.

    There is one per answer and, for several rounds, one of the whole dialogue. They revise the
    ``latest`` ones (IRIs by dialogue and round).
    """
    name = dialogue.iri
    of_answers = [
        answer_evaluation(
            task_class, dialogue, k, verdict, mint(name, k), revises=latest.get((name, k))
        )
        for k, verdict in zip(dialogue.judged, verdicts, strict=False)
    ]
    of_dialogue = dialogue_evaluation(
        task_class, dialogue, verdicts, mint(name, None), revises=latest.get((name, None))
    )
    return of_answers if of_dialogue is None else [*of_answers, of_dialogue]


def scores_by_iri(task_class: TaskClass, scores: object) -> dict[str, float]:
    """Replace short metric names by metric IRIs; raises ``KeyError`` for an undeclared name."""
    assert isinstance(scores, dict)
    return {task_class.metrics[name].iri: float(value) for name, value in scores.items()}
