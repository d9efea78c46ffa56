# SPDX-License-Identifier: Apache-2.0
"""Evaluations -> triples of an evaluation pass."""

from __future__ import annotations

from kgbench.model import Dialogue, Evaluation
from kgbench.rdf import double
from kgbench.record import schema
from kgbench.scoring.relation_triples import CLEANINGS


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
