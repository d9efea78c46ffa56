# SPDX-License-Identifier: Apache-2.0
"""Comparison policies: the declared decisions without which two results cannot be compared.

The result of a comparison is a match before it gets the score names of a policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum
from typing import Any, Final, NamedTuple

from kgbench.model import Metric
from kgbench.rdf.declared import Declared, metrics_of, shipped
from kgbench.scoring.agreement import Agreement, harmonic
from kgbench.vocab import DCTERMS, KGB, RDFS, SCHEMA, SKOS

_TERMS: Final = {
    "values": KGB.valueForm,
    "unit": KGB.resultUnit,
    "columns": KGB.columnRule,
    "order": KGB.orderRule,
    "ask": KGB.askRule,
    "both_empty": KGB.bothEmptyRule,
    "unanswered": KGB.unansweredRule,
    "failed": KGB.failureRule,
    "reference": KGB.referenceRule,
    "mean": KGB.meanRule,
}


ON_VARIANTS: Final = "rows-on-variants"
"""The policy that also compares results on variants of a graph, so needs more than two results."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a result is compared with the expected one.

    ``ontology/kgbench.ttl`` defines the words of the fields that hold one; shapes list them.
    With ``nothing_precise``, an empty answer has precision 1, not 0. ``left_out`` are name endings
    of expected columns that do not count. Above ``whole_above`` rows on either side, rows count
    only as a whole (``None``: never). ``metrics`` are the scores by short name, those of whole
    dialogues included; ``main`` is the name of the metric that ranks answers.
    """

    iri: str
    name: str
    version: str
    label: str
    values: str
    unit: str
    columns: str
    order: str
    ask: str
    both_empty: str
    unanswered: str
    failed: str
    reference: str
    mean: str
    nothing_precise: bool
    left_out: tuple[str, ...]
    whole_above: int | None
    metrics: Mapping[str, Metric]
    main: str
    sources: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def answer_metrics(self) -> dict[str, Metric]:
        """The metrics of single answers, by short name."""
        return {name: m for name, m in self.metrics.items() if m.aggregation is None}


def policies() -> dict[str, Policy]:
    """Return the declared policies for one graph, by name and sorted by name."""
    return {name: declared for name, declared in _declared().items() if name != ON_VARIANTS}


def policy(name: str) -> Policy:
    """Return the policy called ``name``.

    Raises :class:`~kgbench.errors.QueryError` with the known names if there is none.
    """
    declared = shipped("ontology", "policies.ttl")
    declared.named(KGB.ComparisonPolicy, name)
    return _declared()[name]


@cache
def _declared() -> dict[str, Policy]:
    declared = shipped("ontology", "policies.ttl")
    loaded = [_policy(declared, node) for node in declared.instances(KGB.ComparisonPolicy)]
    return {policy.name: policy for policy in sorted(loaded, key=lambda policy: policy.name)}


def _policy(declared: Declared, node: Any) -> Policy:
    words = {field: declared.required(node, term) for field, term in _TERMS.items()}
    metrics = metrics_of(declared, node)
    main = declared.required(node, KGB.mainMetric)
    return Policy(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.softwareVersion),
        label=declared.required(node, RDFS.label),
        nothing_precise=bool(declared.required_value(node, KGB.nothingIsPrecise)),
        left_out=tuple(declared.texts(node, KGB.columnLeftOut)),
        whole_above=declared.read(node, KGB.wholeRowsAbove, int),
        metrics=metrics,
        main=next(name for name, metric in metrics.items() if metric.iri == main),
        sources=tuple(declared.texts(node, DCTERMS.source)),
        faults=tuple(declared.texts(node, KGB.knownFault)),
        **words,
    )


def mean(
    policy: Policy, scores: Sequence[Mapping[str, float]], ordered: Sequence[bool] = ()
) -> dict[str, float]:
    """Return the mean of each metric over questions; empty if there are no questions.

    ``scores`` are by short name; a missing answer has the scores :func:`unanswered`. ``ordered``
    says for each question whether the order of its result matters. TEXT2SPARQL 2025 averages a list
    that already contains its averages (``text2sparql_client/utils/order_matters.py``): this extra
    row has the mean nDCG of ordered questions, and is absent if no question is ordered.
    """
    if not scores:
        return {}
    means = {
        name: fsum(question[name] for question in scores) / len(scores)
        for name in policy.answer_metrics
    }
    if policy.mean == "harmonic":
        means["f1"] = harmonic(means["precision"], means["recall"])
    ranked = [question for question, matters in zip(scores, ordered, strict=False) if matters]
    if policy.mean == "average-averaged" and ranked:
        name = policy.main
        ranked_mean = fsum(question[name] for question in ranked) / len(ranked)
        means[name] = (fsum(question[name] for question in scores) + ranked_mean) / (
            len(scores) + 1
        )
    return means


def unanswered(policy: Policy) -> dict[str, float]:
    """Return the scores of a missing answer to a question with an expected result."""
    scores = dict.fromkeys(policy.answer_metrics, 0.0)
    if policy.unanswered == "as-empty" and policy.nothing_precise:
        scores["precision"] = 1.0
    return scores


class Match(NamedTuple):
    """Precision, recall and F1 (``None``: undefined), an explanation, and nDCG if requested."""

    agreement: Agreement | None
    reason: str
    ndcg: float | None = None


def match_summary(hits: float, expected_count: int, answer_count: int, noun: str) -> str:
    """Describe how many of ``noun`` were expected, given, and found.

    >>> match_summary(2, 3, 4, "rows")
    '2 of 3 expected rows found, 4 given'
    """
    hit_count = f"{hits:.4g}" if hits != int(hits) else f"{int(hits):,}"
    return f"{hit_count} of {expected_count:,} expected {noun} found, {answer_count:,} given"
