# SPDX-License-Identifier: Apache-2.0
"""Edits to a part of a world: of values, links, lists, blank nodes and leading zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kgbench.worlds.generator import literal
from kgbench.worlds.matching import Row
from kgbench.worlds.naming import Chance
from kgbench.worlds.spellings import FIRST, NIL, REST, TYPE

from .parts import FLAT, INTEGER, LABEL, NESTED, SHARED, Part, toggle_leading_zero

_FEW: Final = 3  # most triples of a blank node that can be removed


class Editing:
    """Successive edits to the triples of a part; ``features`` are the kinds of edits made."""

    def __init__(self, part: Part, chance: Chance) -> None:
        self._part = part
        self._chance = chance
        self._rows = dict.fromkeys(sorted(part.rows))
        self.features: set[str] = set()

    @property
    def rows(self) -> frozenset[Row]:
        """The current triples."""
        return frozenset(self._rows)

    def edit(self) -> None:
        """Try one edit of a random kind of the level; change nothing if it does not apply."""
        kinds = [name for name, (level, _) in _EDITS.items() if level <= self._part.level]
        kind = self._chance.one(kinds)
        if _EDITS[kind][1](self):
            self.features.add(kind)

    def remove_value(self) -> bool:
        """Remove a value."""
        values = self._values()
        if values:
            del self._rows[self._chance.one(values)]
        return bool(values)

    def add_value(self) -> bool:
        """Add a value of a property of the node's class."""
        node = self._chance.one(sorted(self._part.kinds))
        return self._add_value_of_class(node)

    def change_value(self) -> bool:
        """Replace a value by another value of the same property."""
        values = [row for row in self._values() if row[1] != LABEL]
        others = {row[1]: [other[2] for other in values if other[1] == row[1]] for row in values}
        fits = [row for row in values if len(set(others[row[1]])) > 1]
        if not fits:
            return False
        row = self._chance.one(fits)
        return self._replace(
            row, self._chance.one([value for value in others[row[1]] if value != row[2]])
        )

    def change_link(self) -> bool:
        """Replace the target of a link, or the member of a list."""
        targets: dict[str, list[str]] = {}
        links = [row for row in self._rows if self._is_link(row)]
        for row in links:
            targets.setdefault(row[1], []).append(row[2])
        fits = [row for row in links if len(set(targets[row[1]])) > 1]
        if not fits:
            return False
        row = self._chance.one(fits)
        return self._replace(
            row, self._chance.one([node for node in targets[row[1]] if node != row[2]])
        )

    def add_node(self) -> bool:
        """Link a node to a new blank node with a class and possibly a value."""
        links = [row for row in self._rows if self._is_link(row) and row[2] in self._part.kinds]
        if not links:
            return False
        subject, predicate, like = self._chance.one(links)
        if predicate == FIRST:
            return False
        node = self._part.fresh()
        kind = self._part.kinds[like]
        self._rows[subject, predicate, node] = None
        self._rows[node, TYPE, f"<{self._part.graph.terms[kind]}>"] = None
        self._add_value_of_class(node, kind)
        return True

    def remove_node(self) -> bool:
        """Remove a blank node that has few triples."""
        nodes = [node for node in sorted(self._part.kinds) if node.startswith("_:")]
        rows_by_node = {node: [row for row in self._rows if node in row] for node in nodes}
        fits = [
            node
            for node in nodes
            if 0 < len(rows_by_node[node]) <= _FEW
            and all(row[1] != FIRST for row in rows_by_node[node])
        ]
        if not fits:
            return False
        for row in rows_by_node[self._chance.one(fits)]:
            del self._rows[row]
        return True

    def lengthen_list(self) -> bool:
        """Append a member of a list to the same or another list."""
        ends = [row for row in self._rows if row[1:] == (REST, NIL)]
        members = [row[2] for row in self._rows if row[1] == FIRST]
        if not ends or not members:
            return False
        cell = self._part.fresh()
        self._replace(self._chance.one(ends), cell)
        self._rows[cell, FIRST, self._chance.one(members)] = None
        self._rows[cell, REST, NIL] = None
        return True

    def write_otherwise(self) -> bool:
        """Add or strip leading zeros of a whole number."""
        numbers = [row for row in self._values() if row[2].endswith(INTEGER)]
        if not numbers:
            return False
        row = self._chance.one(numbers)
        return self._replace(row, toggle_leading_zero(row[2]))

    def _add_value_of_class(self, node: str, kind: str | None = None) -> bool:
        part = self._part
        properties = part.values(kind or part.kinds[node])
        if not properties:
            return False
        prop = self._chance.one(properties)
        donors = [
            value
            for instance in part.graph.instances[kind or part.kinds[node]]
            for value in instance.values.get(prop.iri, ())
        ]
        if not donors:
            return False
        row = (node, part.predicate(prop), literal(prop, self._chance.one(donors)))
        is_new = row not in self._rows
        self._rows[row] = None
        return is_new

    def _replace(self, row: Row, value: str) -> bool:
        new = (row[0], row[1], value)
        if new in self._rows:
            return False
        del self._rows[row]
        self._rows[new] = None
        return True

    def _values(self) -> list[Row]:
        return [row for row in self._rows if row[2].startswith('"')]

    def _is_link(self, row: Row) -> bool:
        return row[1] not in {TYPE, REST} and not row[2].startswith('"') and row[2] != NIL


_EDITS: Final[Mapping[str, tuple[int, Callable[[Editing], bool]]]] = {
    "value removed": (1, Editing.remove_value),
    "value added": (1, Editing.add_value),
    "value changed": (1, Editing.change_value),
    "link changed": (1, Editing.change_link),
    "node added": (FLAT, Editing.add_node),
    "node removed": (FLAT, Editing.remove_node),
    "list lengthened": (NESTED, Editing.lengthen_list),
    "number written otherwise": (SHARED, Editing.write_otherwise),
}
"""The kinds of edits, with the lowest level that has them."""
