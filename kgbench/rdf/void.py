# SPDX-License-Identifier: Apache-2.0
"""Statistics of a data set in VoID: numbers of triples, classes and properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

from kgbench.rdf.statements import integer, node, statements_about
from kgbench.vocab import VOID

Facts = Mapping[str, Any]
"""``triples`` is a number; ``classes`` and ``properties`` map IRIs to numbers of uses."""


def counts(dataset: ox.NamedNode, facts: Facts) -> list[ox.Quad]:
    """Return quads with the totals of a data set."""
    return statements_about(
        dataset,
        (VOID.triples, integer(facts["triples"])),
        (VOID.classes, integer(len(facts["classes"]))),
        (VOID.properties, integer(len(facts["properties"]))),
    )


def partitions(dataset: ox.NamedNode, facts: Facts, base: str) -> list[ox.Quad]:
    """Return quads with a partition per class and property; their IRIs begin with ``base``."""
    quads = []
    for number, (iri, uses) in enumerate(sorted(facts["classes"].items())):
        part = node(f"{base}class-{number}")
        quads += statements_about(dataset, (VOID.classPartition, part))
        quads += statements_about(part, (VOID["class"], iri), (VOID.entities, integer(uses)))
    for number, (iri, uses) in enumerate(sorted(facts["properties"].items())):
        part = node(f"{base}property-{number}")
        quads += statements_about(dataset, (VOID.propertyPartition, part))
        quads += statements_about(part, (VOID.property, iri), (VOID.triples, integer(uses)))
    return quads
