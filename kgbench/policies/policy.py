# SPDX-License-Identifier: Apache-2.0
"""Comparison policies: the declared decisions without which two results cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kgbench.errors import ResourceError
from kgbench.model import Metric
from kgbench.rdf.declared import Declared, shipped
from kgbench.rdf.metrics import metrics_of
from kgbench.vocab import DCTERMS, KGB, RDFS, SCHEMA, SKOS

WORDS: Final = {
    "values": ("lexical", "prefixed", "whole", "by-value"),
    "unit": ("value", "row"),
    "columns": ("forgotten", "within-row", "assigned"),
    "duplicates": ("once", "counted"),
    "order": ("ignored", "ndcg", "demanded"),
    "ask": ("value", "key", "exact", "non-empty"),
    "both_empty": ("right", "wrong", "undefined"),
    "unanswered": ("wrong", "as-empty"),
    "failed": ("wrong", "as-empty"),
    "reference": ("executed", "published"),
    "mean": ("plain", "average-averaged", "harmonic"),
}
"""The allowed words for each field of a policy."""

_TERMS: Final = {
    "values": KGB.valueForm,
    "unit": KGB.resultUnit,
    "columns": KGB.columnRule,
    "duplicates": KGB.duplicateRule,
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

    Fields that hold a word take one of :data:`WORDS`; ``ontology/kgbench.ttl`` defines each word.
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
    duplicates: str
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
    for field, word in words.items():
        if word not in WORDS[field]:
            allowed = ", ".join(WORDS[field])
            raise ResourceError(f"{declared.file}: {node} has {field} '{word}' (but {allowed})")
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
