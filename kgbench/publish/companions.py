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
from functools import partial

import pyoxigraph as ox

from kgbench.analysis.storing import cube_triples, is_cube, measures_of, observations
from kgbench.pages.board import asked
from kgbench.pages.rendering import serialised
from kgbench.publish.folder import Dump, Folder
from kgbench.publish.metadata import Companion, Publication
from kgbench.publish.results import BOARD, SuiteResults
from kgbench.publish.signing import CLAIMS
from kgbench.rdf.statements import integer, node, statements_about, text, type_statements
from kgbench.scores.inference import inference_statements
from kgbench.store.iris import slug
from kgbench.tables import Ref, Table, Value
from kgbench.vocab import BASE, DCAT, DCTERMS, KGB, PROV, QB, RDFS, XSD

_INHERITED = frozenset(
    (DCTERMS.creator, DCTERMS.publisher, DCTERMS.license, DCTERMS.issued, DCTERMS.modified)
)
_DATA_CUBE = "https://www.w3.org/TR/vocab-data-cube/"
_QueryPath = Callable[[str, Mapping[str, str]], str]


def write(
    folder: Folder,
    standings: Sequence[SuiteResults],
    publication: Publication,
    query_path: _QueryPath,
) -> list[Companion]:
    """Write the cubes and claims of all suites, and return them as data sets.

    ``query_path`` returns the path of a query with parameters.
    """
    written = [_cubes(folder, each, publication, query_path) for each in standings if each.tables]
    if any(BOARD in each.tables for each in standings):
        written.append(_claims(folder, standings, publication.base))
    return written


def write_document(folder: Folder, path: str, quads: Iterable[ox.Quad]) -> Dump:
    """Write the triples of ``quads``, each once and sorted, as a document in Turtle."""
    distinct = sorted({quad.triple for quad in quads}, key=str)
    content = serialised((ox.Quad(*triple) for triple in distinct), "ttl")
    folder.write(path, content)
    sha256 = folder.written[path]
    return Dump(path, len(content), sha256, sha256, len(distinct))


def _parsed(lines: Iterable[str]) -> Iterator[ox.Quad]:
    """Parse lines of N-Triples."""
    yield from ox.parse("\n".join(lines).encode(), ox.RdfFormat.N_TRIPLES)


# --- cubes ----------------------------------------------------------------------------------------


def _cubes(
    folder: Folder, results: SuiteResults, publication: Publication, query_path: _QueryPath
) -> Companion:
    """Write the document with the cubes of a suite: its tables."""
    base = publication.base
    dataset = node(f"{results.document(base)}#tables")
    title = f"Tables: {results.label}"
    cubes = {kind: table for kind, table in results.tables.items() if is_cube(table)}
    iris = [results.cube(base, kind) for kind in cubes]
    quads = [
        *type_statements(dataset, DCAT.Dataset),
        *statements_about(
            dataset,
            (DCTERMS["title"], text(title, "en")),
            (DCTERMS.isPartOf, publication.dataset),
            *((DCTERMS.hasPart, cube) for cube in iris),
        ),
    ]
    for iri, (kind, table) in zip(iris, cubes.items(), strict=True):
        links = partial(_citing, base, results) if kind == BOARD else lambda _: ()
        pass_ = results.selection.pass_
        quads += _parsed(cube_triples(table, iri, results.suite, pass_, links=links))
        quads += _about_cube(node(iri), results.suite, table, publication, query_path)
    return Companion(
        iri=dataset.value,
        title=title,
        description=f"Data Cubes with intervals: {'; '.join(t.title for t in cubes.values())}.",
        file=write_document(folder, f"leaderboard/{results.slug}.ttl", quads),
        standard=_DATA_CUBE,
        vocabularies=(KGB, DCTERMS, PROV, QB),
        parts=tuple(iris),
        subject=results.suite,
    )


def _citing(
    base: str, results: SuiteResults, row: Mapping[str, Value]
) -> Iterator[tuple[str, str]]:
    """Yield the claim that cites the observations of a row of the leaderboard."""
    yield DCTERMS.isReferencedBy, _claim_iri(base, results, row)


def _about_cube(
    dataset: ox.NamedNode,
    suite: str,
    table: Table,
    published: Publication,
    query_path: _QueryPath,
) -> list[ox.Quad]:
    """Return the metadata of a cube; people, licence and dates are those of the data set."""
    activity = node(f"{published.base}#publication")
    notes = " ".join(table.notes)
    return [
        *statements_about(
            dataset,
            *published.about(_INHERITED),
            (RDFS.label, text(table.title)),
            (DCTERMS["title"], text(table.title, "en")),
            (DCTERMS.description, text(notes, "en") if notes else None),
            (DCTERMS.subject, suite),
            (DCTERMS.isPartOf, published.dataset),
            (PROV.wasGeneratedBy, activity),
            *((DCTERMS.source, published.base + query_path(*query)) for query in asked(table)),
        ),
        *type_statements(activity, PROV.Activity),
        *type_statements(node(published.dataset), DCAT.Dataset),
    ]


# --- claims ---------------------------------------------------------------------------------------


def _claims(folder: Folder, standings: Iterable[SuiteResults], base: str) -> Companion:
    """Write each claim, and one document with all."""
    dataset = node(f"{base}{CLAIMS}.ttl#claims")
    title = "Claims: the score of each model over each suite"
    parts: list[str] = []
    stated: list[ox.Quad] = []
    for standing in standings:
        for iri, quads in claims(standing, base) if BOARD in standing.tables else ():
            path = iri.removeprefix(base).partition("#")[0]
            folder.write(path, serialised(quads, "ttl"))
            parts.append(iri)
            stated += quads
    stated += type_statements(dataset, DCAT.Dataset)
    stated += statements_about(
        dataset,
        (DCTERMS["title"], text(title, "en")),
        (DCTERMS.isPartOf, f"{base}#dataset"),
        *((DCTERMS.hasPart, part) for part in parts),
    )
    return Companion(
        iri=dataset.value,
        title=title,
        description="Headline scores with intervals, estimands and methods, each with the "
        "observations of the leaderboard and the graphs of evaluations that it is derived from.",
        file=write_document(folder, f"{CLAIMS}.ttl", stated),
        standard=KGB,
        vocabularies=(KGB, DCTERMS, PROV),
        parts=tuple(parts),
    )


def _claim_iri(base: str, standing: SuiteResults, row: Mapping[str, Value]) -> str:
    """Return the IRI of the claim about the model in a row of the leaderboard of a suite."""
    return f"{base}{CLAIMS}/{standing.slug}/{slug(str(row['model']))}.ttl#claim"


def claims(standing: SuiteResults, base: str) -> Iterator[tuple[str, list[ox.Quad]]]:
    """Yield the claims of the leaderboard of a suite: the IRI of each, and its statements."""
    table = standing.tables[BOARD]
    measures, has_cube = measures_of(table), is_cube(table)
    for row, observed in observations(table, standing.cube(base, BOARD)):
        name = row["model"]
        model = name.iri if isinstance(name, Ref) else str(name)
        derived = [
            *sorted(standing.passes.get(model, ())),
            *(observed.values() if has_cube else ()),
        ]
        claim = node(_claim_iri(base, standing, row))
        quads = [
            *type_statements(claim, KGB.Claim, PROV.Entity),
            *statements_about(
                claim,
                (RDFS.label, text(f"{name}: {table.title}", "en")),
                (KGB.model, model),
                (KGB.suite, standing.suite),
                (KGB.scoreSet, f"{BASE}score-set/{table.context.get('score_set')}"),
                (KGB.passChoice, text(standing.selection.pass_)),
                (DCTERMS.isPartOf, f"{base}#dataset"),
                *((PROV.wasDerivedFrom, iri) for iri in derived),
                *((prop, _number(row.get(m), kind)) for m, (prop, kind) in measures.items()),
            ),
            *_parsed(inference_statements(claim.value, table)),
        ]
        yield claim.value, quads


def _number(value: Value, datatype: str) -> ox.Literal | None:
    if value is None or isinstance(value, str):
        return None
    if datatype == XSD.integer:
        return integer(int(value))
    return ox.Literal(repr(float(value)), datatype=node(datatype))
