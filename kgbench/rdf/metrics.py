# SPDX-License-Identifier: Apache-2.0
"""A reader of the metrics that a task class or a comparison policy declares."""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.model import Metric
from kgbench.rdf.declared import Declared
from kgbench.vocab import KGB, SCHEMA, SKOS


def metrics_of(declared: Declared, node: ox.NamedNode) -> dict[str, Metric]:
    """Return the metrics of the resource ``node``, by short name."""
    metrics = (_metric(declared, metric) for metric in declared.objects(node, KGB.metric))
    return {metric.name: metric for metric in metrics}


def _metric(declared: Declared, node: ox.NamedNode) -> Metric:
    return Metric(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        higher_is_better=declared.required_value(node, KGB.higherIsBetter),
        minimum=declared.value(node, SCHEMA.minValue),
        maximum=declared.value(node, SCHEMA.maxValue),
        aggregation=declared.value(node, KGB.aggregation),
        base=declared.value(node, KGB.aggregationOf),
        same=declared.value(node, SKOS.exactMatch),
        agreement_of=declared.value(node, KGB.agreementOf),
    )
