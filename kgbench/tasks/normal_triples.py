# SPDX-License-Identifier: Apache-2.0
"""Comparison of graphs by normalised triples, which the Turtle tasks of 2023 share."""

from __future__ import annotations

from collections.abc import Iterable

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor
from kgbench.scoring.graphs import with_uniform_blank_nodes
from kgbench.scoring.similarity import ratio


def expected_triples(case: Case, executor: Executor) -> tuple[str, ...]:
    """Return the triples of the ``optimal`` document in the data of ``case``.

    Raises :class:`~kgbench.errors.EvaluationError` if the case has none, like some published cases
    of 2023, or if it does not parse.
    """
    document = case.data.get("optimal")
    if not document:
        raise EvaluationError(
            f"the case {case.iri} has no 'optimal' to compare with: it was not published"
        )
    parsed = executor.parse(document, "turtle")
    if parsed.triples is None:
        raise EvaluationError(
            f"the 'optimal' of the case {case.iri} does not parse: {parsed.error}"
        )
    return parsed.triples


def text_similarity(answer_triples: Iterable[str], expected_triples: Iterable[str]) -> float:
    """Similarity of two graphs as texts: sorted lines with uniform blank nodes; 0 if empty."""
    lines = sorted(map(with_uniform_blank_nodes, answer_triples))
    return (
        ratio("\n".join(lines), "\n".join(sorted(map(with_uniform_blank_nodes, expected_triples))))
        if lines
        else 0.0
    )
