# SPDX-License-Identifier: Apache-2.0
"""Verdicts of judges -> triples, beside the evaluations of the judges' answers."""

from __future__ import annotations

from kgbench.model import Dialogue, Evaluation, Json
from kgbench.rdf import integer, iri, string
from kgbench.record import terms as t


def verdict_triples(evaluation: Evaluation, dialogue: Dialogue, pass_iri: str) -> list[str]:
    """Return the triples of a judge's verdict on stored dialogues; none where it gave no verdict.

    Raises :class:`ValueError` where a value in the infos of the evaluation should be an IRI and is
    not.
    """
    infos, chosen = evaluation.infos, evaluation.infos.get("verdict")
    if chosen is None:
        return []
    options = infos["options"]
    name = f"{evaluation.iri}/verdict"
    node = iri(name)
    lines = [
        f"{node} {t.TYPE} {t.VERDICT} .",
        f"{node} {t.TYPE} {t.ENTITY} .",
        f"{node} {t.GENERATED_BY} <{pass_iri}> .",
        f"{node} {t.DERIVED_FROM} <{dialogue.iri}/{evaluation.round}/answer> .",
        f"{node} {t.DIALOGUE_P} <{dialogue.iri}> .",
        f"{node} {t.MODEL_P} <{dialogue.model}> .",
        f"{node} {t.ITERATION} {integer(dialogue.iteration)} .",
        f"{node} {t.RUBRIC} {iri(infos['rubric'])} .",
        f"{node} {t.VERDICT_P} {iri(options[chosen])} .",
        f"{node} {t.OPTION_ORDER} {string(' '.join(infos['order']))} .",
    ]
    if infos["executed"] is not None:
        lines.append(f"{node} {t.EXECUTED} {iri(options[infos['executed']])} .")
    for index, item in enumerate(infos["items"]):
        lines += item_triples(node, f"<{name}/{index}>", index, item)
    return lines


def item_triples(verdict: str, node: str, place: int, item: Json) -> list[str]:
    """Return the triples of one judged dialogue.

    ``verdict`` and ``node`` are terms; ``item`` has IRIs and ``characters``.
    """
    return [
        f"{verdict} {t.JUDGED_ITEM} {node} .",
        f"{node} {t.TYPE} {t.JUDGED} .",
        f"{node} {t.TYPE} {t.ENTITY} .",
        f"{node} {t.PLACE} {integer(place)} .",
        f"{node} {t.DIALOGUE_P} {iri(item['dialogue'])} .",
        f"{node} {t.MODEL_P} {iri(item['model'])} .",
        f"{node} {t.TASK_P} {iri(item['task'])} .",
        f"{node} {t.CASE_P} {iri(item['case'])} .",
        f"{node} {t.CHARACTERS} {integer(int(item['characters']))} .",
    ]
