# SPDX-License-Identifier: Apache-2.0
"""Evaluations and verdicts of judges -> triples of an evaluation pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgbench.model import Dialogue, Evaluation
from kgbench.rdf import double
from kgbench.record import schema
from kgbench.scoring.facts import CLEANINGS

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
