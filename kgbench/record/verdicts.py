# SPDX-License-Identifier: Apache-2.0
"""Verdicts of judges -> triples, beside the evaluations of the judges' answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgbench.model import Dialogue, Evaluation
from kgbench.record import schema

_IRIS = ("dialogue", "model", "task", "case")


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
