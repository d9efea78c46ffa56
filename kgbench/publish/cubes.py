# SPDX-License-Identifier: Apache-2.0
"""Leaderboards, scores by task and compasses as Data Cubes, one document for each suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pyoxigraph as ox

from kgbench.analysis.storing import cube_triples, is_cube
from kgbench.pages.board import asked
from kgbench.publish.catalog import Publication
from kgbench.publish.claims import claim_iri
from kgbench.publish.companions import Companion, as_lines, write_document
from kgbench.publish.folder import Folder
from kgbench.publish.results import BOARD, SuiteResults
from kgbench.rdf.statements import node, statements_about, text, type_statements
from kgbench.tables import Value
from kgbench.vocab import DCAT, DCTERMS, KGB, PROV, QB, RDFS

_INHERITED = frozenset(
    (DCTERMS.creator, DCTERMS.publisher, DCTERMS.license, DCTERMS.issued, DCTERMS.modified)
)
_DATA_CUBE = "https://www.w3.org/TR/vocab-data-cube/"


def write(
    folder: Folder,
    standings: Iterable[SuiteResults],
    publication: Publication,
    query_path: Callable[[str, Mapping[str, str]], str],
) -> Iterator[Companion]:
    """Write the cubes of all suites; ``query_path`` returns the path of a query with parameters.

    Yields a companion data set for each suite with scores: its tables.
    """
    for results in standings:
        if results.tables:
            yield _Cubes(results, publication, query_path).write(folder)


@dataclass(frozen=True, slots=True)
class _Cubes:
    """The cubes of one suite."""

    results: SuiteResults
    publication: Publication
    query_path: Callable[[str, Mapping[str, str]], str]

    def write(self, folder: Folder) -> Companion:
        """Write the document with the cubes."""
        results = self.results
        tables = node(f"{results.document(self.publication.base)}#tables")
        title = f"Tables: {results.label}"
        cubes = {
            results.cube(self.publication.base, kind): table.title
            for kind, table in results.tables.items()
            if is_cube(table)
        }
        about = [
            *type_statements(tables, DCAT.Dataset),
            *statements_about(
                tables,
                (DCTERMS["title"], text(title, "en")),
                (DCTERMS.isPartOf, self.publication.dataset),
                *((DCTERMS.hasPart, cube) for cube in cubes),
            ),
        ]
        cells = (line for kind in results.tables for line in self._cube(kind))
        lines = chain(cells, as_lines(about))
        file, triples = write_document(folder, f"leaderboard/{results.slug}.ttl", lines)
        return Companion(
            iri=tables.value,
            title=title,
            description=f"Data Cubes with intervals: {'; '.join(cubes.values())}.",
            file=file,
            triples=triples,
            standard=_DATA_CUBE,
            vocabularies=(KGB, DCTERMS, PROV, QB),
            parts=tuple(cubes),
            subject=results.suite,
        )

    def _cube(self, kind: str) -> Iterator[str]:
        """Yield the lines of N-Triples of a table; nothing if it cannot be a cube."""
        table = self.results.tables[kind]
        if not is_cube(table):
            return
        dataset = self.results.cube(self.publication.base, kind)
        pass_ = self.results.selection.pass_
        links = partial(self._claim, kind)
        yield from cube_triples(table, dataset, self.results.suite, pass_, links=links)
        yield from as_lines(self._metadata(node(dataset), kind))

    def _claim(self, kind: str, row: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
        """Yield the claim that cites the observations of a row of the leaderboard."""
        if kind == BOARD:
            claim = claim_iri(self.publication.base, self.results, str(row["model"]))
            yield DCTERMS.isReferencedBy, claim

    def _metadata(self, dataset: ox.NamedNode, kind: str) -> list[ox.Quad]:
        """Return the metadata of a cube; people, licence and dates are those of the data set."""
        published, table = self.publication, self.results.tables[kind]
        activity = node(f"{published.base}#publication")
        notes = " ".join(table.notes)
        return [
            *(
                quad
                for quad in published.common(dataset)
                if quad.subject == dataset and quad.predicate.value in _INHERITED
            ),
            *statements_about(
                dataset,
                (RDFS.label, text(table.title)),
                (DCTERMS["title"], text(table.title, "en")),
                (DCTERMS.description, text(notes, "en") if notes else None),
                (DCTERMS.subject, self.results.suite),
                (DCTERMS.isPartOf, published.dataset),
                (PROV.wasGeneratedBy, activity),
                *(
                    (DCTERMS.source, published.base + self.query_path(*query))
                    for query in asked(table)
                ),
            ),
            *type_statements(activity, PROV.Activity),
            *type_statements(published.dataset, DCAT.Dataset),
        ]
