# SPDX-License-Identifier: Apache-2.0
"""Evaluations -> triples of an evaluation pass."""

from __future__ import annotations

from kgbench.model import Dialogue, Evaluation, Outcome, Turn
from kgbench.rdf import double, integer, json_literal, string
from kgbench.record import terms as t
from kgbench.scoring.relation_triples import CLEANINGS


def outcome_of(turn: Turn, judged: Outcome) -> Outcome:
    """Return the outcome of an answer: the provider's, if it reported one, else the judge's."""
    reply = turn.calls[-1].reply if turn.calls else None
    return judged if reply is None or reply.outcome is None else reply.outcome


def evaluation_triples(evaluation: Evaluation, dialogue: Dialogue, pass_iri: str) -> list[str]:
    """Return the triples of one evaluation: what was judged, in which pass, and the scores.

    Model, task, suite, case and iteration are repeated on it, so that grouping needs no join.
    """
    node = f"<{evaluation.iri}>"
    lines = [
        f"{node} {t.TYPE} {t.EVALUATION} .",
        f"{node} {t.TYPE} {t.ENTITY} .",
        f"{node} {t.GENERATED_BY} <{pass_iri}> .",
        f"{node} {t.DIALOGUE_P} <{dialogue.iri}> .",
        f"{node} {t.MODEL_P} <{dialogue.model}> .",
        f"{node} {t.TASK_P} <{dialogue.task}> .",
        f"{node} {t.SUITE_P} <{dialogue.suite}> .",
        f"{node} {t.CASE_P} <{dialogue.case}> .",
        f"{node} {t.ITERATION} {integer(dialogue.iteration)} .",
        f"{node} {t.OUTCOME_P} {t.outcome(evaluation.outcome)} .",
        f"{node} {t.INFOS} {json_literal(dict(evaluation.infos))} .",
    ]
    if evaluation.round is None:
        lines += [
            f"{node} {t.DERIVED_FROM} {_judged(dialogue, k)} ." for k in range(len(dialogue.turns))
        ]
    else:
        lines.append(f"{node} {t.ROUND} {integer(evaluation.round)} .")
        lines.append(f"{node} {t.DERIVED_FROM} {_judged(dialogue, evaluation.round)} .")
    cleaning = evaluation.infos.get("cleaning")
    if isinstance(cleaning, str) and cleaning in CLEANINGS:  # others may record anything
        lines.append(f"{node} {t.CLEANING} {string(cleaning)} .")
    lines += _on_variants(node, evaluation, pass_iri)
    if evaluation.decimals is not None:
        lines.append(f"{node} {t.DECIMALS} {integer(evaluation.decimals)} .")
    if evaluation.revises is not None:
        lines.append(f"{node} {t.REVISION_OF} <{evaluation.revises}> .")
    lines += [f"{node} <{metric}> {double(value)} ." for metric, value in evaluation.scores.items()]
    return lines


def _judged(dialogue: Dialogue, k: int) -> str:
    """Return the node that is judged of turn ``k``: the answer, or the prompt if it has none."""
    kind = "prompt" if dialogue.turns[k].answer is None else "answer"
    return f"<{dialogue.iri}/{k}/{kind}>"


def _on_variants(node: str, evaluation: Evaluation, pass_iri: str) -> list[str]:
    """Return the outcome on variants of the graph, and the first variant that shows it."""
    outcome = evaluation.infos.get("variantOutcome")
    if not isinstance(outcome, str):
        return []
    lines = [f"{node} {t.VARIANT_OUTCOME} {string(outcome)} ."]
    witness = evaluation.infos.get("witness")
    if isinstance(witness, dict):
        variant = f"{pass_iri}/variant/{witness['variant']}"
        lines.append(f"{node} {t.SHOWN_BY} <{variant}> .")
    return lines
