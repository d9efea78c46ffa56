# SPDX-License-Identifier: Apache-2.0
"""Exports verdicts of people as a table, and as RDF with named graphs."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from kgbench.importers.reviews import COLUMNS
from kgbench.judges.rubrics import all_rubric_versions
from kgbench.record.reviews import Review, reviewer_entry
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

_KINDS = {"seconds": Kind.SCORE, "seed": Kind.COUNT}


def table(reviews: Sequence[Review]) -> Table:
    """Return a table with one row per verdict, as :func:`kgbench.importers.reviews.from_csv` reads.

    Rubrics are given as NAME/VERSION, options by name.
    """
    rubrics = {rubric.iri: f"{rubric.name}/{rubric.version}" for rubric in all_rubric_versions()}
    names = {
        option.iri: option.name for rubric in all_rubric_versions() for option in rubric.options
    }
    columns = tuple(
        Column(name, name.capitalize(), _KINDS.get(name, Kind.TEXT)) for name in COLUMNS
    )
    rows = tuple(
        _row(review, rubrics.get(review.rubric, review.rubric), names) for review in reviews
    )
    return Table("Verdicts of people", columns, rows, queries=("review-verdicts",))


def _row(review: Review, rubric: str, names: dict[str, str]) -> tuple[Value, ...]:
    first, *others = (item.dialogue for item in review.items)
    return (
        review.iri,
        review.reviewer,
        rubric,
        first,
        others[0] if others else None,
        " ".join(review.order),
        names.get(review.chosen, review.chosen),
        None if review.executed is None else names.get(review.executed, review.executed),
        review.decided.isoformat(),
        review.seconds,
        review.reason or None,
        review.queue,
        review.seed,
        review.revises,
        " ".join(review.adjudicates) or None,
    )


def trig(store: Store, reviews: Sequence[Review]) -> str:
    """Return the runs and passes of the verdicts, and their reviewers, as TriG."""
    passes = sorted({review.pass_iri.rpartition("/")[2] for review in reviews})
    graphs = [
        graph
        for name in passes
        for graph in (
            store.iris.mint("runGraph", run=name),
            store.iris.mint("passGraph", **{"pass": name}),
        )
    ]
    quads = [
        ox.Quad(triple.subject, triple.predicate, triple.object, ox.NamedNode(graph))
        for graph in graphs
        for triple in store.triples(graph)
    ]
    catalogue = ox.NamedNode(store.iris.catalogue)
    for reviewer in sorted({review.reviewer for review in reviews}):
        lines = "\n".join(reviewer_entry(store.iris, reviewer))
        triples = ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)
        quads += [ox.Quad(t.subject, t.predicate, t.object, catalogue) for t in triples]
    text = ox.serialize(sorted(quads, key=str), format=ox.RdfFormat.TRIG)
    assert text is not None
    return bytes(text).decode("utf-8")
