# SPDX-License-Identifier: Apache-2.0
"""Requests to servers: look-ups, small aggregates, pages; no query occurs twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgbench.pages.things import View

_KGB = "https://w3id.org/kgbench/ns#"
AGGREGATES = (
    f"SELECT ?g (COUNT(?d) AS ?n) {{ GRAPH ?g {{ ?d a <{_KGB}Dialogue> }} }} GROUP BY ?g",
    f"SELECT ?m (COUNT(*) AS ?n) {{ GRAPH ?g {{ ?d <{_KGB}model> ?m }} }} GROUP BY ?m",
    "SELECT ?c (COUNT(*) AS ?n) { GRAPH ?g { ?t a ?c } } GROUP BY ?c ORDER BY ?c",
)
_KINDS = ("Dialogue", "Task", "Model", "Run")
_OF_A_KIND = 5  # pages


def look_up(iri: str) -> str:
    """Return the query for all statements about a resource."""
    return f"SELECT ?p ?o {{ GRAPH ?g {{ <{iri}> ?p ?o }} }}"


def look_ups(view: View) -> list[str]:
    """Return a look-up for each IRI that is a subject in a snapshot."""
    import pyoxigraph as ox

    quads = view.database.quads_for_pattern(None, None, None)
    subjects = {quad.subject.value for quad in quads if isinstance(quad.subject, ox.NamedNode)}
    return [look_up(iri) for iri in sorted(subjects)]


def aggregates() -> Iterator[str]:
    """Yield an endless series of small aggregates, each made distinct by a comment."""
    for number, query in enumerate(itertools.cycle(AGGREGATES)):
        yield f"{query}\n# {number}"


def leaderboard(view: View) -> str:
    """Return the query behind the leaderboard, over the main metrics of all tasks."""
    from kgbench.pages.contents import filled_query

    return filled_query(view, {"name": "score-histograms"})


def pages(view: View) -> dict[str, list[str]]:
    """Return paths of some pages of each kind, relative to the root."""
    from kgbench.pages import things
    from kgbench.vocab import KGB

    paths = {"leaderboard": ["leaderboard"]}
    for kind in _KINDS:
        iris = things.instances(view, KGB[kind])
        if kind == "Task":  # only declared tasks that have results
            iris = [iri for iri in iris if things.subjects(view, KGB.task, iri, 1)]
        step = max(1, len(iris) // _OF_A_KIND)
        base = view.iris.base
        paths[kind.lower()] = [iri.removeprefix(base) for iri in iris[::step][:_OF_A_KIND]]
    return paths
