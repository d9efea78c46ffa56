# SPDX-License-Identifier: Apache-2.0
"""What provenance must not say: the declared constraints, and cycles of derivation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.publish.checks import declared
from kgbench.publish.checks.report import Fault
from kgbench.validation.components import shown
from kgbench.vocab import PROV

_DERIVATION = [
    ox.NamedNode(PROV[n]) for n in ("wasDerivedFrom", "wasRevisionOf", "hadPrimarySource")
]
_FileOf = Callable[[Any], str]


def check(quads: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """What breaks the constraints of provenance."""
    for constraint in declared.group("provenance").values():
        yield from constraint.faults(quads, file_of)
    for cycle in cycles(quads):
        way = " from ".join(shown(node) for node in [*cycle[1:], cycle[0]][:4])
        yield Fault(
            "derivation-cycle",
            getattr(cycle[0], "value", ""),
            file_of(cycle[0]),
            f"Derives from itself: from {way}{' ...' if len(cycle) > 3 else ''}.",  # noqa: PLR2004
            "Remove the prov:wasDerivedFrom or prov:wasRevisionOf that is not true.",
        )


def cycles(quads: ox.Store) -> Iterator[list[Any]]:
    """Cycles of derivation, at least one of each group of nodes that derive from each other.

    Time and memory grow with the edges between nodes that others derive from.
    """
    pattern = quads.quads_for_pattern
    sources = {q.object for prop in _DERIVATION for q in pattern(None, prop, None)}
    after: dict[Any, list[Any]] = {}
    for prop in _DERIVATION:
        for quad in pattern(None, prop, None):
            if quad.subject in sources:
                after.setdefault(quad.subject, []).append(quad.object)
    done: set[Any] = set()
    for start in after:
        if start not in done:
            yield from _from(start, after, done)


def _from(start: Any, after: dict[Any, list[Any]], done: set[Any]) -> Iterator[list[Any]]:
    """Depth first, without recursion: a node met again on the way closes a cycle."""
    way = [start]
    place = {start: 0}
    open_ = [iter(after.get(start, ()))]
    while way:
        following = next(open_[-1], None)
        if following is None:
            node = way.pop()
            del place[node]
            open_.pop()
            done.add(node)
        elif following in place:
            cycle = way[place[following] :]
            first = min(range(len(cycle)), key=lambda at: str(cycle[at]))
            yield [*cycle[first:], *cycle[:first]]
        elif following not in done and following in after:
            place[following] = len(way)
            way.append(following)
            open_.append(iter(after[following]))
