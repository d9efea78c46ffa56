# SPDX-License-Identifier: Apache-2.0
"""Scores of all evaluations of a pass, read in one row per evaluation.

An engine looks up every IRI in a result by its hash: with a row per score, that took longer than
finding the scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.rdf import iri
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


def of_pass(store: Store, graph: str) -> dict[str, dict[str, float]]:
    """Return the scores of each evaluation with scores in the graph of a pass, by metric (IRIs)."""
    metrics = [row[0].value for row in store.query(fill("pass-metrics.rq", **{"pass": graph}))]
    numbered = " ".join(f"({iri(metric)} {number})" for number, metric in enumerate(metrics))
    rows = store.query(fill("pass-scores.rq", metrics=numbered, **{"pass": graph}))
    return {evaluation.value: _parsed(pairs.value, metrics) for evaluation, pairs in rows}


def _parsed(pairs: str, metrics: Sequence[str]) -> dict[str, float]:
    """Parse pairs of the number of a metric and a value, all separated by blanks."""
    words = iter(pairs.split(" "))
    return {metrics[int(number)]: float(value) for number, value in zip(words, words, strict=True)}
