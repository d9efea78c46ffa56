# SPDX-License-Identifier: Apache-2.0
"""Exports verdicts of people as a table, and as RDF with named graphs."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.importers.reviews import COLUMNS
from kgbench.judges.rubrics import every_rubric
from kgbench.record.reviews import Review, described
from kgbench.store.protocol import Store

_KINDS = {"seconds": Kind.SCORE, "seed": Kind.COUNT}


def table(found: Sequence[Review]) -> Table:
    """Return a table with one row per verdict, as :func:`kgbench.importers.reviews.from_csv` reads.

    Rubrics are given as NAME/VERSION, options by name.
    """
    rubrics = {one.iri: f"{one.name}/{one.version}" for one in every_rubric()}
    names = {option.iri: option.name for one in every_rubric() for option in one.options}
    columns = tuple(
        Column(name, name.capitalize(), _KINDS.get(name, Kind.TEXT)) for name in COLUMNS
    )
    rows = tuple(_row(one, rubrics.get(one.rubric, one.rubric), names) for one in found)
    return Table("Verdicts of people", columns, rows, queries=("review-verdicts",))


def _row(one: Review, rubric: str, names: dict[str, str]) -> tuple[Value, ...]:
    first, *others = (item.dialogue for item in one.items)
    return (
        one.iri,
        one.reviewer,
        rubric,
        first,
        others[0] if others else None,
        " ".join(one.order),
        names.get(one.chosen, one.chosen),
        None if one.executed is None else names.get(one.executed, one.executed),
        one.decided.isoformat(),
        one.seconds,
        one.why or None,
        one.queue,
        one.seed,
        one.revises,
        " ".join(one.adjudicates) or None,
    )


def trig(store: Store, found: Sequence[Review]) -> str:
    """Return the runs and passes of the verdicts, and their reviewers, as TriG."""
    passes = sorted({one.pass_iri.rpartition("/")[2] for one in found})
    graphs = [
        graph
        for name in passes
        for graph in (
            store.iris.mint("runGraph", run=name),
            store.iris.mint("passGraph", **{"pass": name}),
        )
    ]
    quads = [
        ox.Quad(one.subject, one.predicate, one.object, ox.NamedNode(graph))
        for graph in graphs
        for one in store.triples(graph)
    ]
    catalogue = ox.NamedNode(store.iris.catalogue)
    for reviewer in sorted({one.reviewer for one in found}):
        lines = "\n".join(described(store.iris, reviewer))
        said = ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)
        quads += [ox.Quad(one.subject, one.predicate, one.object, catalogue) for one in said]
    text = ox.serialize(sorted(quads, key=str), format=ox.RdfFormat.TRIG)
    assert text is not None
    return bytes(text).decode("utf-8")
