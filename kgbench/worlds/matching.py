# SPDX-License-Identifier: Apache-2.0
"""The least difference of two graphs up to the names of blank nodes, found by trying.

A pairing gives each blank node of the first graph at most one of the second. Triples of the first
graph that it maps to none of the second are removed, triples of the second graph that it reaches
from none of the first are added. The number of both is least where the number of those removed is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

Row = tuple[str, str, str]
Pairing = Mapping[str, str | None]
_STEPS: Final = 20_000


class Difference(NamedTuple):
    """Triples that are removed from a graph, and triples that are added to it.

    Terms are written as in N-Triples; blank nodes of ``removed`` have the names of the first graph,
    those of ``added`` the names of the second.
    """

    removed: frozenset[Row]
    added: frozenset[Row]


def only_difference(first: frozenset[Row], second: frozenset[Row], most: int) -> Difference | None:
    """Return the least difference of two graphs, with up to ``most`` triples removed.

    ``None`` if there are two least ones, where all are larger, or where it takes too many steps
    to tell.
    """
    search = _searched(first, second, most)
    return search.found if search is not None and search.clear else None


def isomorphic(first: frozenset[Row], second: frozenset[Row]) -> bool | None:
    """Whether two graphs are the same up to blank nodes; ``None`` if it takes too long to tell.

    >>> isomorphic(frozenset({("_:a", "<p>", '"1"')}), frozenset({("_:x", "<p>", '"1"')}))
    True
    """
    if len(first) != len(second):
        return False
    search = _searched(first, second, 0)
    return None if search is None else search.found is not None


def rigid(rows: frozenset[Row]) -> bool:
    """Return whether blank nodes can be told apart: no other pairing of a graph with itself fits.

    False, too, where it takes too many steps to tell.

    >>> rigid(frozenset({("_:a", "<p>", '"1"'), ("_:b", "<p>", '"1"')}))
    False
    """
    search = _searched(rows, rows, 0)
    return search is not None and search.pairings == 1


def blanks(row: Row) -> list[str]:
    """Return the blank nodes of a triple."""
    return [cell for cell in row if cell.startswith("_:")]


class _TooManySteps(Exception):
    """There are too many pairings to try."""


def _searched(first: frozenset[Row], second: frozenset[Row], most: int) -> _Search | None:
    """Return the outcome of a search; ``None`` if it takes too many steps."""
    search = _Search(first, second, most)
    try:
        search.go(0, sum(row not in second for row in first if not blanks(row)))
    except _TooManySteps:
        return None
    return search


class _Search:
    """Tries pairings that remove no more triples than the best one so far.

    ``pairings`` is how many of them are as good as the best one, ``clear`` whether all of them
    give the difference ``found``.
    """

    def __init__(self, first: frozenset[Row], second: frozenset[Row], most: int) -> None:
        self._first, self._second = first, second
        self._most = most
        self._order = _order(first)
        places = {node: place for place, node in enumerate(self._order)}
        self._rows: list[list[Row]] = [[] for _ in self._order]
        for row in sorted(first):
            if nodes := blanks(row):
                self._rows[max(places[node] for node in nodes)].append(row)
        self._others = sorted({node for row in second for node in blanks(row)})
        self._pairing: dict[str, str | None] = {}
        self._left = _STEPS
        self.found: Difference | None = None
        self.pairings = 0
        self.clear = False

    def go(self, place: int, removed: int) -> None:
        """Try all partners of the blank node at ``place`` and of those behind it."""
        self._left -= 1
        if self._left < 0:
            raise _TooManySteps
        # Nothing is better than two pairings that remove nothing.
        if removed > self._most or (self._most == 0 and self.pairings > 1):
            return
        if place == len(self._order):
            self._keep(removed)
            return
        node = self._order[place]
        used = set(self._pairing.values())
        costs: list[tuple[int, str | None]] = []
        for other in (*(one for one in self._others if one not in used), None):
            self._pairing[node] = other
            lost = sum(renamed(row, self._pairing) not in self._second for row in self._rows[place])
            costs.append((lost, other))
        for lost, other in sorted(costs, key=lambda one: one[0]):
            self._pairing[node] = other
            self.go(place + 1, removed + lost)
        del self._pairing[node]

    def _keep(self, removed: int) -> None:
        images = {row: renamed(row, self._pairing) for row in self._first}
        lost = frozenset(row for row, image in images.items() if image not in self._second)
        difference = Difference(lost, self._second - frozenset(filter(None, images.values())))
        if self.found is None or removed < len(self.found.removed):
            self.found, self._most, self.pairings = difference, removed, 1
            self.clear = True
        else:
            self.pairings += 1
            self.clear = self.clear and self.found == difference


def renamed(row: Row, pairing: Pairing) -> Row | None:
    """Return a triple with the partners of its blank nodes; ``None`` if one has none."""
    cells = [pairing[cell] if cell.startswith("_:") else cell for cell in row]
    subject, predicate, value = cells
    if subject is None or predicate is None or value is None:
        return None
    return subject, predicate, value


def _order(rows: Iterable[Row]) -> Sequence[str]:
    """Blank nodes, next to each other where they are linked, those with most to tell them first."""
    told: dict[str, int] = {}
    linked: dict[str, set[str]] = {}
    for row in rows:
        nodes = blanks(row)
        for node in nodes:
            told[node] = told.get(node, 0) + (len(nodes) == 1)
            linked.setdefault(node, set()).update(nodes)
    found: list[str] = []
    while left := told.keys() - set(found):
        near = {node for node in left if linked[node] & set(found)} or left
        found.append(max(near, key=lambda node: (told[node], node)))
    return found
