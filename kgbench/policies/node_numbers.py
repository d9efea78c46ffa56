# SPDX-License-Identifier: Apache-2.0
"""Numbers of the blank nodes in a set of rows, which depend on the rows but not on the labels.

Nodes with the same number so far are told apart by the rows that they occur in, until no number
separates further nodes. Then one node of the first ambiguous number gets a new number, and so on.
The nodes of an ambiguous number are almost always symmetric, so that it does not matter which one
is chosen. The exceptions are sets whose blank nodes are linked regularly, such as circles of
different lengths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

Row = tuple[str | None, ...]
_SELF: Final = "_:self"
_OTHER: Final = "_:other"


def node_numbers(rows: Mapping[str, Sequence[Row]]) -> dict[str, int]:
    """Return a different number for each blank node in ``rows``, the rows of each blank node.

    After a change, only the smaller parts of a separated number are looked at again (Hopcroft
    1971), so that each row is visited a logarithmic number of times.

    >>> row_a, row_b = ("_:a", "<p>", "_:b"), ("_:b", "<p>", '"1"')
    >>> sorted(node_numbers({"_:a": [row_a], "_:b": [row_a, row_b]}).items())
    [('_:a', 1), ('_:b', 0)]
    """
    numbering = _Numbering(rows)
    numbering.separate(rows)
    for nodes in numbering.nodes:  # grows meanwhile
        while len(nodes) > 1:
            node = nodes.pop()
            numbering.add({node})
            numbering.separate({node})
    return numbering.numbers


class _Numbering:
    """Blank nodes by their numbers so far."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self._rows = rows
        self.numbers = dict.fromkeys(rows, 0)
        self.nodes = [set(rows)]

    def add(self, nodes: set[str]) -> None:
        """Give a new number to ``nodes``, which have been removed from their earlier one."""
        self.numbers.update(dict.fromkeys(nodes, len(self.nodes)))
        self.nodes.append(nodes)

    def separate(self, changed: Iterable[str]) -> None:
        """Give new numbers to nodes until those with the same number have the same rows.

        ``changed`` are the nodes whose numbers have changed; at first, all nodes.
        """
        while changed:
            views: dict[str, list[str]] = defaultdict(list)
            for row in {row for node in changed for row in self._rows[node]}:
                for node in blank_cells(row):
                    views[node].append(repr(row_seen_by(row, node, self.numbers)))
            affected: dict[int, list[str]] = defaultdict(list)
            for node in views:
                affected[self.numbers[node]].append(node)
            changed = [
                node
                for number in sorted(affected)
                for node in self._split(self.nodes[number], affected[number], views)
            ]

    def _split(
        self, nodes: set[str], affected: Iterable[str], views: Mapping[str, list[str]]
    ) -> list[str]:
        """Separate ``nodes`` of one number by their ``views``; return those with new numbers.

        The largest part keeps the number.
        """
        by_view: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for node in affected:
            by_view[tuple(sorted(views[node]))].add(node)
        parts = [by_view[view] for view in sorted(by_view)]
        nodes.difference_update(affected)
        largest = max(parts, key=len)
        if len(largest) > len(nodes):
            parts[parts.index(largest)] = set(nodes)
            nodes.clear()
            nodes |= largest
        for part in filter(None, parts):
            self.add(part)
        return [node for part in parts for node in part]


def row_seen_by(row: Row, node: str, colours: Mapping[str, object]) -> Row:
    """Return a row from the view of one of its blank nodes, with colours for the others."""
    return tuple(
        cell
        if cell is None or not is_blank(cell)
        else _SELF
        if cell == node
        else f"_{colours.get(cell, _OTHER)}"
        for cell in row
    )


def blank_cells(row: Row) -> set[str]:
    """Return the blank nodes in a row."""
    return {cell for cell in row if cell is not None and is_blank(cell)}


def is_blank(cell: str) -> bool:
    """Return whether a cell is a blank node."""
    return cell.startswith("_:")
