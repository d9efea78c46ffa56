# SPDX-License-Identifier: Apache-2.0
"""Headline claims: the score of one model over one suite, each as a document of its own.

A claim has the measures, estimand and method of the leaderboard's data cube. It is derived from
the observations of its row, which say in turn that it cites them, and from the graphs of the passes
whose scores count. It can be signed (:mod:`kgbench.publish.signing`), passed on and checked by
itself. One document beside them holds all claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyoxigraph as ox

from kgbench.analysis.cubes import is_cube, measures_of, observations
from kgbench.analysis.inference import statements
from kgbench.analysis.tables import Value
from kgbench.publish.companions import Companion, written
from kgbench.publish.dumps import turtle
from kgbench.publish.folder import Folder
from kgbench.publish.standing import BOARD, Standing
from kgbench.rdf.statements import integer, node, said, text, typed
from kgbench.store.iris import slug
from kgbench.vocab import BASE, DCAT, DCTERMS, KGB, PROV, RDFS, XSD

PLACE = "claims"


def write(
    folder: Folder, standings: Iterable[Standing], base: str, published: Callable[[str], str]
) -> Companion | None:
    """Write each claim, and all of them in one document; ``None`` where there are none.

    ``published`` gives the published IRI of a thing of the store.
    """
    together: list[ox.Quad] = []
    parts: list[str] = []
    for path, quads in claims(standings, base, published):
        folder.write(f"{path}.ttl", turtle(quads, f"{base}{path}.ttl"))
        together += quads
        parts.append(f"{base}{path}.ttl#claim")
    if not parts:
        return None
    whole = node(f"{base}{PLACE}.ttl#claims")
    title = "Claims: the score of each model over each suite"
    together += typed(whole, DCAT.Dataset)
    together += said(
        whole,
        (DCTERMS["title"], text(title, "en")),
        (DCTERMS.isPartOf, f"{base}#dataset"),
        *((DCTERMS.hasPart, part) for part in parts),
    )
    files, triples = written(folder, PLACE, together)
    return Companion(
        iri=whole.value,
        title=title,
        description="Headline scores with intervals, estimands and methods, each with the "
        "observations of the leaderboard and the graphs of evaluations that it is derived from.",
        files=files,
        triples=triples,
        standard=KGB,
        vocabularies=(KGB, DCTERMS, PROV),
        parts=tuple(parts),
    )


def claim_iri(base: str, standing: Standing, model: str) -> str:
    """The IRI of the claim about a model, by its name in the leaderboard of a suite."""
    return f"{base}{_path(standing, model)}.ttl#claim"


def claims(
    standings: Iterable[Standing], base: str, published: Callable[[str], str]
) -> Iterator[tuple[str, list[ox.Quad]]]:
    """The claims of all leaderboards: the path of each without its suffix, and what it states."""
    for standing in standings:
        table = standing.tables.get(BOARD)
        if table is None:
            continue
        score_set = table.context.get("score_set")
        known = measures_of(table)
        for row, observed in observations(table, standing.cube(base, BOARD)):
            name = str(row["model"])
            claim = node(claim_iri(base, standing, name))
            lines = "\n".join(statements(claim.value, table))
            quads: list[ox.Quad] = [
                *typed(claim, KGB.Claim, PROV.Entity),
                *said(
                    claim,
                    (RDFS.label, text(f"{name}: {table.title}", "en")),
                    (KGB.model, published(table.iris["model"][name])),
                    (KGB.suite, published(standing.suite)),
                    (KGB.scoreSet, f"{BASE}score-set/{score_set}"),
                    (KGB.passChoice, text(standing.selection.choice)),
                    (DCTERMS.isPartOf, f"{base}#dataset"),
                    *(
                        (PROV.wasDerivedFrom, published(graph))
                        for graph in standing.selection.pass_graphs
                    ),
                    *(
                        (PROV.wasDerivedFrom, iri)
                        for iri in (observed.values() if is_cube(table) else ())
                    ),
                    *((prop, _number(row.get(m), kind)) for m, (prop, kind) in known.items()),
                ),
            ]
            quads += [
                ox.Quad(one.subject, one.predicate, one.object)
                for one in ox.parse(lines.encode(), ox.RdfFormat.N_TRIPLES)
            ]
            yield _path(standing, name), quads


def _path(standing: Standing, model: str) -> str:
    return f"{PLACE}/{standing.slug}/{slug(model)}"


def _number(value: Value, datatype: str) -> ox.Literal | None:
    if value is None or isinstance(value, str):
        return None
    if datatype == XSD.integer:
        return integer(int(value))
    return ox.Literal(repr(float(value)), datatype=node(datatype))
