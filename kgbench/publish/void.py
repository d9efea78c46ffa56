# SPDX-License-Identifier: Apache-2.0
"""The publication in VoID: statistics of the whole data set and of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from kgbench.publish.catalog import Publication
from kgbench.publish.manifest import Unit
from kgbench.rdf.statements import node, statements_about, text, type_statements
from kgbench.rdf.void import counts, partitions
from kgbench.vocab import DCTERMS, FOAF, FORMATS, PREFIXES, RDF, VOID


class Statistics:
    """Counts quads while they are written to a dump."""

    def __init__(self) -> None:
        self.triples = 0
        self._classes: Counter[str] = Counter()
        self._properties: Counter[str] = Counter()

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """Count the quads about one subject."""
        for quad in quads:
            self.triples += 1
            name = quad.predicate.value
            self._properties[name] += 1
            if name == RDF.type:
                self._classes[str(getattr(quad.object, "value", ""))] += 1

    def facts(self) -> dict[str, Any]:
        """Return the counts in the form of the manifest."""
        return {
            "triples": self.triples,
            "classes": dict(sorted(self._classes.items())),
            "properties": dict(sorted(self._properties.items())),
        }


def void(
    publication: Publication, units: Mapping[str, Unit], runs: Mapping[str, str]
) -> list[ox.Quad]:
    """Return the data set with its partitions; ``runs`` has the IRIs of runs by unit name."""
    base = publication.base
    quads = [
        *type_statements(node(base + "void.ttl"), VOID.DatasetDescription),
        *statements_about(
            node(base + "void.ttl"),
            (FOAF.primaryTopic, publication.dataset),
            *((FOAF.topic, companion.iri) for companion in publication.companions),
        ),
        *statements_about(
            publication.dataset,
            (DCTERMS["title"], text(publication.metadata.title, "en")),
            (FOAF.homepage, base),
            (VOID.uriSpace, text(base)),
            (VOID.sparqlEndpoint, publication.endpoint),
            (VOID.exampleResource, next(iter(runs.values()), None)),
            (VOID.feature, FORMATS["N-Quads"]),
        ),
    ]
    totals = _sum(unit.facts for unit in units.values())
    used = {
        prefix
        for prefix, space in PREFIXES.items()
        if any(name.startswith(space) for name in (*totals["classes"], *totals["properties"]))
    }
    quads += statements_about(
        publication.dataset, *((VOID.vocabulary, str(PREFIXES[p])) for p in sorted(used))
    )
    dumps = publication.now.dumps if publication.packing.password is None else ()
    quads += statements_about(
        publication.dataset, *((VOID.dataDump, base + dump.path) for dump in dumps)
    )
    quads += counts(publication.dataset, totals)
    quads += partitions(publication.dataset, totals, base + "void.ttl#")
    for name, iri in runs.items():
        subset = node(f"{base}void.ttl#{name}")
        quads += statements_about(publication.dataset, (VOID.subset, subset))
        quads += type_statements(subset, VOID.Dataset)
        quads += statements_about(
            subset,
            (DCTERMS["title"], text(name, "en")),
            (FOAF.primaryTopic, iri),
            *((VOID.dataDump, base + dump.path) for dump in units[name].dumps if dumps),
        )
        quads += counts(subset, units[name].facts)
    for companion in publication.companions:
        quads += companion.void(base)
    return quads


def _sum(facts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    totals: dict[str, Any] = {"triples": 0, "classes": Counter(), "properties": Counter()}
    for unit_facts in facts:
        totals["triples"] += unit_facts["triples"]
        totals["classes"].update(unit_facts["classes"])
        totals["properties"].update(unit_facts["properties"])
    return totals
