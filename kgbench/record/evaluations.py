# SPDX-License-Identifier: Apache-2.0
"""Evaluations: made from verdicts alike for all passes, and written as triples of a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kgbench.model import Dialogue, Evaluation, TaskClass, Verdict
from kgbench.rdf import double
from kgbench.record import schema
from kgbench.scoring.facts import CLEANINGS
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


_IRIS = ("dialogue", "model", "task", "case")


def evaluation_triples(evaluation: Evaluation, dialogue: Dialogue, pass_iri: str) -> list[str]:
    """Return the triples of one evaluation: what was judged, in which pass, and the scores.

    Model, task, suite, case and iteration are repeated on it, so that grouping needs no join.
    """
    infos, k = evaluation.infos, evaluation.round
    rounds = range(len(dialogue.turns)) if k is None else (k,)
    cleaning, outcome, witness = map(infos.get, ("cleaning", "variantOutcome", "witness"))
    variant = witness["variant"] if isinstance(witness, dict) else None
    if not isinstance(outcome, str):  # others may record anything under these names
        outcome = variant = None
    lines = schema.of("Evaluation").triples(
        evaluation.iri,
        evaluation,
        dialogue,
        evaluation_pass=pass_iri,
        dialogue=dialogue.iri,
        judged=[_judged(dialogue, number) for number in rounds],
        cleaning=cleaning if isinstance(cleaning, str) and cleaning in CLEANINGS else None,
        variant_outcome=outcome,
        shown_by=variant and f"{pass_iri}/variant/{variant}",
    )
    node = f"<{evaluation.iri}>"
    lines += [f"{node} <{metric}> {double(value)} ." for metric, value in evaluation.scores.items()]
    return lines


def _judged(dialogue: Dialogue, k: int) -> str:
    """Return the IRI of what is judged of turn ``k``: the answer, or the prompt if it has none."""
    kind = "prompt" if dialogue.turns[k].answer is None else "answer"
    return f"{dialogue.iri}/{k}/{kind}"


@dataclass(frozen=True, slots=True)
class Item:
    """A judged dialogue with its model, task and case (IRIs), and its length when shown."""

    dialogue: str
    model: str
    task: str
    case: str
    characters: int


def verdict_triples(evaluation: Evaluation, dialogue: Dialogue, pass_iri: str) -> list[str]:
    """Return the triples of a judge's verdict on stored dialogues or on a calibration item.

    There are none where it gave no verdict. Raises :class:`ValueError` where a value in the infos
    of the evaluation should be an IRI and is not.
    """
    infos, verdict = evaluation.infos, f"{evaluation.iri}/verdict"
    if infos.get("verdict") is None:
        return []
    options = infos["options"]
    executed = None if infos["executed"] is None else options[infos["executed"]]
    said = {
        "evaluation_pass": pass_iri,
        "answer": f"{dialogue.iri}/{evaluation.round}/answer",
        "dialogue": dialogue.iri,
        "model": dialogue.model,
        "rubric": infos["rubric"],
        "chosen": options[infos["verdict"]],
        "order": " ".join(infos["order"]),
    }
    if calibration := infos.get("calibration"):
        return schema.of("CalibrationVerdict").triples(
            verdict,
            known=executed,
            item=calibration["item"],
            item_order=calibration["order"],
            **said,
        )
    items = [
        Item(**{name: item[name] for name in _IRIS}, characters=int(item["characters"]))
        for item in infos["items"]
    ]
    return [
        *schema.of("Verdict").triples(
            verdict,
            iteration=dialogue.iteration,
            executed=executed,
            judged=item_iris(verdict, items),
            **said,
        ),
        *item_triples(verdict, items),
    ]


def item_iris(verdict: str, items: Iterable[Item]) -> list[str]:
    """Return the IRIs of the judged dialogues of a verdict (IRI)."""
    return [f"{verdict}/{place}" for place, _ in enumerate(items)]


def item_triples(verdict: str, items: Iterable[Item]) -> list[str]:
    """Return the triples of the judged dialogues of a verdict (IRI)."""
    of_item = schema.of("JudgedItem").triples
    placed = enumerate(zip(item_iris(verdict, items), items, strict=True))
    return [line for place, (iri, item) in placed for line in of_item(iri, item, place=place)]
