# SPDX-License-Identifier: Apache-2.0
"""The smallest difference of two graphs up to blank node labels, found by exhaustive search.

A pairing maps each blank node of the first graph to at most one of the second. Triples of the first
graph whose image is not in the second count as removed; triples of the second graph that are not
the image of any triple count as added. A pairing with the fewest removed triples also has the
fewest added ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

Row = tuple[str, str, str]
Pairing = Mapping[str, str | None]
_STEPS: Final = 20_000


class Difference(NamedTuple):
    """Triples removed from a graph, and triples added to it.

    Terms are written as in N-Triples. Blank nodes of ``removed`` have the labels of the first
    graph, those of ``added`` the labels of the second.
    """

    removed: frozenset[Row]
    added: frozenset[Row]


def only_difference(
    first: frozenset[Row], second: frozenset[Row], max_removed: int
) -> Difference | None:
    """Return the unique smallest difference of two graphs; removes up to ``max_removed`` triples.

    ``None`` if there are two smallest differences, if all are larger, or if the search takes too
    many steps.
    """
    search = _searched(first, second, max_removed)
    return search.found if search is not None and search.unique else None


def is_isomorphic(first: frozenset[Row], second: frozenset[Row]) -> bool | None:
    """Return whether two graphs are isomorphic; ``None`` if the search takes too many steps.

    >>> is_isomorphic(frozenset({("_:a", "<p>", '"1"')}), frozenset({("_:x", "<p>", '"1"')}))
    True
    """
    if len(first) != len(second):
        return False
    search = _searched(first, second, 0)
    return None if search is None else search.found is not None


def is_rigid(rows: frozenset[Row]) -> bool:
    """Return whether the only automorphism of a graph is the identity.

    Also ``False`` if the search takes too many steps.

    >>> is_rigid(frozenset({("_:a", "<p>", '"1"'), ("_:b", "<p>", '"1"')}))
    False
    """
    search = _searched(rows, rows, 0)
    return search is not None and search.pairings == 1


def blank_nodes(row: Row) -> list[str]:
    """Return the blank nodes of a triple."""
    return [cell for cell in row if cell.startswith("_:")]


class _TooManySteps(Exception):
    """The search has used up its steps."""


def _searched(first: frozenset[Row], second: frozenset[Row], max_removed: int) -> _Search | None:
    """Run a search; return ``None`` if it takes too many steps."""
    search = _Search(first, second, max_removed)
    try:
        search.explore(0, sum(row not in second for row in first if not blank_nodes(row)))
    except _TooManySteps:
        return None
    return search


class _Search:
    """A search for the pairings that remove the fewest triples.

    ``pairings`` is the number of best pairings so far, ``unique`` whether all of them give the
    difference ``found``.
    """

    def __init__(self, first: frozenset[Row], second: frozenset[Row], max_removed: int) -> None:
        self._first, self._second = first, second
        self._max_removed = max_removed
        self._order = _order(first)
        positions = {node: position for position, node in enumerate(self._order)}
        self._rows: list[list[Row]] = [[] for _ in self._order]
        for row in sorted(first):
            if nodes := blank_nodes(row):
                self._rows[max(positions[node] for node in nodes)].append(row)
        self._others = sorted({node for row in second for node in blank_nodes(row)})
        self._pairing: dict[str, str | None] = {}
        self._steps_left = _STEPS
        self.found: Difference | None = None
        self.pairings = 0
        self.unique = False

    def explore(self, position: int, removed: int) -> None:
        """Try all partners for the blank nodes from ``position`` on."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise _TooManySteps
        # Two pairings that remove nothing settle the answer; more cannot change it.
        if removed > self._max_removed or (self._max_removed == 0 and self.pairings > 1):
            return
        if position == len(self._order):
            self._keep(removed)
            return
        node = self._order[position]
        used = set(self._pairing.values())
        costs: list[tuple[int, str | None]] = []
        for other in (*(entry for entry in self._others if entry not in used), None):
            self._pairing[node] = other
            lost = sum(
                replace_blank_nodes(row, self._pairing) not in self._second
                for row in self._rows[position]
            )
            costs.append((lost, other))
        for lost, other in sorted(costs, key=lambda entry: entry[0]):
            self._pairing[node] = other
            self.explore(position + 1, removed + lost)
        del self._pairing[node]

    def _keep(self, removed: int) -> None:
        images = {row: replace_blank_nodes(row, self._pairing) for row in self._first}
        lost = frozenset(row for row, image in images.items() if image not in self._second)
        difference = Difference(lost, self._second - frozenset(filter(None, images.values())))
        if self.found is None or removed < len(self.found.removed):
            self.found, self._max_removed, self.pairings = difference, removed, 1
            self.unique = True
        else:
            self.pairings += 1
            self.unique = self.unique and self.found == difference


def replace_blank_nodes(row: Row, pairing: Pairing) -> Row | None:
    """Replace the blank nodes of a triple by their partners; ``None`` if one has no partner."""
    cells = [pairing[cell] if cell.startswith("_:") else cell for cell in row]
    subject, predicate, value = cells
    if subject is None or predicate is None or value is None:
        return None
    return subject, predicate, value


def _order(rows: Iterable[Row]) -> Sequence[str]:
    """Order blank nodes for the search: neighbours together, most ground triples first."""
    ground_triples: dict[str, int] = {}
    linked: dict[str, set[str]] = {}
    for row in rows:
        nodes = blank_nodes(row)
        for node in nodes:
            ground_triples[node] = ground_triples.get(node, 0) + (len(nodes) == 1)
            linked.setdefault(node, set()).update(nodes)
    result: list[str] = []
    while remaining := ground_triples.keys() - set(result):
        near = {node for node in remaining if linked[node] & set(result)} or remaining
        result.append(max(near, key=lambda node: (ground_triples[node], node)))
    return result
