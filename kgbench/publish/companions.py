# SPDX-License-Identifier: Apache-2.0
"""Data sets beside the dumps, each in one file: tables as Data Cubes, and headline claims.

There is a document with cubes for each suite: its leaderboard, scores by task and compasses.

A claim is the score of one model over one suite, as a document of its own that can be signed
(:mod:`kgbench.publish.signing`), passed on and checked. It has the measures, estimand and method of
the leaderboard's cube. It derives from the observations of its row, which refer back to it, and
from the graphs of the selected passes that evaluate its model. Its rank also depends on the other
models, whose passes are named by their own claims: if each claim named all passes, claims would
grow with models times passes. One more document contains all claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import pyoxigraph as ox

from kgbench.analysis.storing import cube_triples, is_cube, measures_of, observations
from kgbench.pages.board import asked
from kgbench.pages.rendering import serialised
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump
from kgbench.publish.metadata import Companion, Publication
from kgbench.publish.results import BOARD, SuiteResults
from kgbench.publish.signing import CLAIMS
from kgbench.rdf.statements import integer, node, statements_about, text, type_statements
from kgbench.scores.inference import inference_statements
from kgbench.store.iris import slug
from kgbench.tables import Value
from kgbench.vocab import BASE, DCAT, DCTERMS, KGB, PREFIXES, PROV, QB, RDFS, XSD

_INHERITED = frozenset(
    (DCTERMS.creator, DCTERMS.publisher, DCTERMS.license, DCTERMS.issued, DCTERMS.modified)
)
_DATA_CUBE = "https://www.w3.org/TR/vocab-data-cube/"


def write(
    folder: Folder,
    standings: Sequence[SuiteResults],
    publication: Publication,
    query_path: Callable[[str, Mapping[str, str]], str],
) -> list[Companion]:
    """Write the cubes and claims of all suites, and return them as data sets.

    ``query_path`` returns the path of a query with parameters.
    """
    cubes = _write_cubes(folder, standings, publication, query_path)
    claimed = _write_claims(folder, standings, publication.base)
    return [*cubes, *([] if claimed is None else [claimed])]


# --- documents ------------------------------------------------------------------------------------


def write_document(folder: Folder, path: str, lines: Iterable[str]) -> Dump:
    """Write a document, given as lines of N-Triples, as Turtle.

    The lines are held in memory, some 200 bytes for each.
    """
    distinct = sorted(set(lines))
    triples = ox.parse("\n".join(distinct).encode(), ox.RdfFormat.N_TRIPLES)
    unfinished = folder.work("document.ttl")
    with unfinished.open("wb") as out:
        ox.serialize(
            (quad.triple for quad in triples), out, ox.RdfFormat.TURTLE, prefixes=dict(PREFIXES)
        )
    sha256, size = folder.adopt(path, unfinished)
    return Dump(path, size, sha256, sha256, len(distinct))


def as_lines(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Yield the triples of ``quads`` as lines of N-Triples."""
    return (f"{quad.triple} ." for quad in quads)


# --- cubes ----------------------------------------------------------------------------------------


def _write_cubes(
    folder: Folder,
    standings: Iterable[SuiteResults],
    publication: Publication,
    query_path: Callable[[str, Mapping[str, str]], str],
) -> Iterator[Companion]:
    """Write the cubes of all suites; ``query_path`` returns the path of a query with parameters.

    Yields a companion data set for each suite with scores: its tables.
    """
    inherited = publication.about(_INHERITED)
    for results in standings:
        if results.tables:
            yield _Cubes(results, publication, query_path, inherited).write(folder)


@dataclass(frozen=True, slots=True)
class _Cubes:
    """The cubes of one suite."""

    results: SuiteResults
    publication: Publication
    query_path: Callable[[str, Mapping[str, str]], str]
    inherited: Sequence[tuple[str, Any]]

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
        file = write_document(folder, f"leaderboard/{results.slug}.ttl", lines)
        return Companion(
            iri=tables.value,
            title=title,
            description=f"Data Cubes with intervals: {'; '.join(cubes.values())}.",
            file=file,
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
            *statements_about(
                dataset,
                *self.inherited,
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
            *type_statements(node(published.dataset), DCAT.Dataset),
        ]


# --- claims ---------------------------------------------------------------------------------------


def _write_claims(folder: Folder, standings: Sequence[SuiteResults], base: str) -> Companion | None:
    """Write each claim, and one document with all; return ``None`` if there are none."""
    dataset = node(f"{base}{CLAIMS}.ttl#claims")
    title = "Claims: the score of each model over each suite"
    parts: list[str] = []

    def each_written() -> Iterator[ox.Quad]:
        for path, quads in claims(standings, base):
            folder.write(f"{path}.ttl", serialised(quads, "ttl"))
            parts.append(f"{base}{path}.ttl#claim")
            yield from quads
        yield from type_statements(dataset, DCAT.Dataset)
        yield from statements_about(
            dataset,
            (DCTERMS["title"], text(title, "en")),
            (DCTERMS.isPartOf, f"{base}#dataset"),
            *((DCTERMS.hasPart, part) for part in parts),
        )

    if not any(BOARD in standing.tables for standing in standings):
        return None
    file = write_document(folder, f"{CLAIMS}.ttl", as_lines(each_written()))
    return Companion(
        iri=dataset.value,
        title=title,
        description="Headline scores with intervals, estimands and methods, each with the "
        "observations of the leaderboard and the graphs of evaluations that it is derived from.",
        file=file,
        standard=KGB,
        vocabularies=(KGB, DCTERMS, PROV),
        parts=tuple(parts),
    )


def claim_iri(base: str, standing: SuiteResults, model: str) -> str:
    """Return the IRI of the claim about a model, by its name in the leaderboard of a suite."""
    return f"{base}{_path(standing, model)}.ttl#claim"


def claims(standings: Iterable[SuiteResults], base: str) -> Iterator[tuple[str, list[ox.Quad]]]:
    """Yield the claims of all leaderboards: the path of each without suffix, and its statements."""
    for standing in standings:
        table = standing.tables.get(BOARD)
        if table is None:
            continue
        score_set = table.context.get("score_set")
        measures, has_cube = measures_of(table), is_cube(table)
        for row, observed in observations(table, standing.cube(base, BOARD)):
            name = str(row["model"])
            model = table.iris["model"].get(name, name)  # without a name, it is called by its IRI
            claim = node(claim_iri(base, standing, name))
            lines = "\n".join(inference_statements(claim.value, table))
            quads: list[ox.Quad] = [
                *type_statements(claim, KGB.Claim, PROV.Entity),
                *statements_about(
                    claim,
                    (RDFS.label, text(f"{name}: {table.title}", "en")),
                    (KGB.model, model),
                    (KGB.suite, standing.suite),
                    (KGB.scoreSet, f"{BASE}score-set/{score_set}"),
                    (KGB.passChoice, text(standing.selection.pass_)),
                    (DCTERMS.isPartOf, f"{base}#dataset"),
                    *(
                        (PROV.wasDerivedFrom, graph)
                        for graph in sorted(standing.passes.get(model, ()))
                    ),
                    *(
                        (PROV.wasDerivedFrom, iri)
                        for iri in (observed.values() if has_cube else ())
                    ),
                    *((prop, _number(row.get(m), kind)) for m, (prop, kind) in measures.items()),
                ),
            ]
            quads += [
                ox.Quad(triple.subject, triple.predicate, triple.object)
                for triple in ox.parse(lines.encode(), ox.RdfFormat.N_TRIPLES)
            ]
            yield _path(standing, name), quads


def _path(standing: SuiteResults, model: str) -> str:
    return f"{CLAIMS}/{standing.slug}/{slug(model)}"


def _number(value: Value, datatype: str) -> ox.Literal | None:
    if value is None or isinstance(value, str):
        return None
    if datatype == XSD.integer:
        return integer(int(value))
    return ox.Literal(repr(float(value)), datatype=node(datatype))
