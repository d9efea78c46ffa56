# SPDX-License-Identifier: Apache-2.0
"""Verdicts of judges about calibration items -> triples."""

from __future__ import annotations

from kgbench.model import Dialogue, Evaluation
from kgbench.rdf import iri, string
from kgbench.record import terms as t


def calibration_triples(evaluation: Evaluation, dialogue: Dialogue, pass_iri: str) -> list[str]:
    """Return the triples of a judge's verdict on a calibration item; none where it gave no verdict.

    Raises :class:`ValueError` where a value in the infos of the evaluation should be an IRI and is
    not.
    """
    infos, chosen = evaluation.infos, evaluation.infos.get("verdict")
    if chosen is None:
        return []
    options, asked = infos["options"], infos["calibration"]
    node = iri(f"{evaluation.iri}/verdict")
    lines = [
        f"{node} {t.TYPE} {t.CALIBRATION_VERDICT} .",
        f"{node} {t.TYPE} {t.ENTITY} .",
        f"{node} {t.GENERATED_BY} <{pass_iri}> .",
        f"{node} {t.DERIVED_FROM} <{dialogue.iri}/{evaluation.round}/answer> .",
        f"{node} {t.DIALOGUE_P} <{dialogue.iri}> .",
        f"{node} {t.MODEL_P} <{dialogue.model}> .",
        f"{node} {t.RUBRIC} {iri(infos['rubric'])} .",
        f"{node} {t.VERDICT_P} {iri(options[chosen])} .",
        f"{node} {t.KNOWN_VERDICT} {iri(options[infos['executed']])} .",
        f"{node} {t.OPTION_ORDER} {string(' '.join(infos['order']))} .",
        f"{node} {t.CALIBRATION_ITEM} {iri(asked['item'])} .",
    ]
    if asked["order"] is not None:
        lines.append(f"{node} {t.CALIBRATION_ORDER} {iri(asked['order'])} .")
    return lines
