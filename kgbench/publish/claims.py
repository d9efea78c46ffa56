# SPDX-License-Identifier: Apache-2.0
"""Headline claims: the score of one model over one suite, each as a document of its own.

A claim has the measures, estimand and method of the leaderboard's data cube. It derives from the
observations of its row, which refer back to it, and from the graphs of the selected passes that
evaluate its model. Its rank also depends on the other models, whose passes are named by their own
claims: if each claim named all passes, claims would grow with models times passes. A claim can be
signed (:mod:`kgbench.publish.signing`), passed on and checked on its own. One more document
contains all claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyoxigraph as ox

from kgbench.analysis.storing import is_cube, measures_of, observations
from kgbench.pages.rendering import serialised
from kgbench.publish.companions import Companion, as_lines, write_document
from kgbench.publish.folder import Folder
from kgbench.publish.results import BOARD, SuiteResults
from kgbench.rdf.statements import integer, node, statements_about, text, type_statements
from kgbench.scores.inference import inference_statements
from kgbench.store.iris import slug
from kgbench.tables import Value
from kgbench.vocab import BASE, DCAT, DCTERMS, KGB, PROV, RDFS, XSD

PLACE = "claims"


def write(folder: Folder, standings: Sequence[SuiteResults], base: str) -> Companion | None:
    """Write each claim, and one document with all; return ``None`` if there are none."""
    dataset = node(f"{base}{PLACE}.ttl#claims")
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
    file, triples = write_document(folder, f"{PLACE}.ttl", as_lines(each_written()))
    return Companion(
        iri=dataset.value,
        title=title,
        description="Headline scores with intervals, estimands and methods, each with the "
        "observations of the leaderboard and the graphs of evaluations that it is derived from.",
        file=file,
        triples=triples,
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
    return f"{PLACE}/{standing.slug}/{slug(model)}"


def _number(value: Value, datatype: str) -> ox.Literal | None:
    if value is None or isinstance(value, str):
        return None
    if datatype == XSD.integer:
        return integer(int(value))
    return ox.Literal(repr(float(value)), datatype=node(datatype))
