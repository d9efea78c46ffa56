# SPDX-License-Identifier: Apache-2.0
"""What servers are asked: look-ups, small aggregates, pages; no query twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgbench.pages.snapshot import View

_KGB = "https://w3id.org/kgbench/ns#"
AGGREGATES = (
    f"SELECT ?g (COUNT(?d) AS ?n) {{ GRAPH ?g {{ ?d a <{_KGB}Dialogue> }} }} GROUP BY ?g",
    f"SELECT ?m (COUNT(*) AS ?n) {{ GRAPH ?g {{ ?d <{_KGB}model> ?m }} }} GROUP BY ?m",
    "SELECT ?c (COUNT(*) AS ?n) { GRAPH ?g { ?t a ?c } } GROUP BY ?c ORDER BY ?c",
)
_KINDS = ("Dialogue", "Task", "Model", "Run")
_OF_A_KIND = 5  # pages


def look_up(iri: str) -> str:
    """The query for all that is said of a thing."""
    return f"SELECT ?p ?o {{ GRAPH ?g {{ <{iri}> ?p ?o }} }}"


def look_ups(view: View) -> list[str]:
    """A look-up for each thing of a snapshot."""
    import pyoxigraph as ox

    quads = view.database.quads_for_pattern(None, None, None)
    subjects = {quad.subject.value for quad in quads if isinstance(quad.subject, ox.NamedNode)}
    return [look_up(iri) for iri in sorted(subjects)]


def aggregates() -> Iterator[str]:
    """Small aggregates without end, each told from all others by a comment."""
    for number, query in enumerate(itertools.cycle(AGGREGATES)):
        yield f"{query}\n# {number}"


def leaderboard(view: View) -> str:
    """The query that the leaderboard rests on, over the main metrics of all tasks."""
    from kgbench.serve.analyses import example

    return example(view, {"name": "score-histograms"})


def pages(view: View) -> dict[str, list[str]]:
    """Paths of pages below the root, by what they show: of each kind some."""
    from kgbench.pages import things
    from kgbench.vocab import KGB

    found = {"leaderboard": ["leaderboard"]}
    for kind in _KINDS:
        some = things.instances(view, KGB[kind])
        if kind == "Task":  # of all that are declared, those with results
            some = [iri for iri in some if things.subjects(view, KGB.task, iri, 1)]
        step = max(1, len(some) // _OF_A_KIND)
        base = view.iris.base
        found[kind.lower()] = [iri.removeprefix(base) for iri in some[::step][:_OF_A_KIND]]
    return found
