# SPDX-License-Identifier: Apache-2.0
"""Changes to a part of a world: values, links, lists, whole blank nodes, leading zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kgbench.worlds.generator import literal
from kgbench.worlds.matching import Row
from kgbench.worlds.naming import Chance
from kgbench.worlds.parts import FLAT, INTEGER, LABEL, NESTED, SHARED, Part, zeroed
from kgbench.worlds.spellings import FIRST, NIL, REST, TYPE

_FEW: Final = 3  # triples with a blank node that can go as a whole


class Editing:
    """Changes to the triples of a part, one after the other. ``features`` are the kinds made."""

    def __init__(self, part: Part, chance: Chance) -> None:
        self._part = part
        self._chance = chance
        self._rows = dict.fromkeys(sorted(part.rows))
        self.features: set[str] = set()

    @property
    def rows(self) -> frozenset[Row]:
        """The triples as they are now."""
        return frozenset(self._rows)

    def edit(self) -> None:
        """Make one change of a kind that there is at the level; none where nothing fits it."""
        kinds = [one for one, (level, _) in _EDITS.items() if level <= self._part.level]
        kind = self._chance.one(kinds)
        if _EDITS[kind][1](self):
            self.features.add(kind)

    def remove_value(self) -> bool:
        """Take a value away."""
        values = self._values()
        if values:
            del self._rows[self._chance.one(values)]
        return bool(values)

    def add_value(self) -> bool:
        """Give a node another value of a property that it may have."""
        node = self._chance.one(sorted(self._part.kinds))
        return self._give(node)

    def change_value(self) -> bool:
        """Put another value in the place of one."""
        values = [row for row in self._values() if row[1] != LABEL]
        others = {row[1]: [one[2] for one in values if one[1] == row[1]] for row in values}
        fits = [row for row in values if len(set(others[row[1]])) > 1]
        if not fits:
            return False
        row = self._chance.one(fits)
        return self._swap(row, self._chance.one([one for one in others[row[1]] if one != row[2]]))

    def change_link(self) -> bool:
        """Link a node, or a cell of a list, to something else."""
        targets: dict[str, list[str]] = {}
        links = [row for row in self._rows if self._links(row)]
        for row in links:
            targets.setdefault(row[1], []).append(row[2])
        fits = [row for row in links if len(set(targets[row[1]])) > 1]
        if not fits:
            return False
        row = self._chance.one(fits)
        return self._swap(row, self._chance.one([one for one in targets[row[1]] if one != row[2]]))

    def add_node(self) -> bool:
        """Link a node to a new blank node with a class and perhaps a value."""
        links = [row for row in self._rows if self._links(row) and row[2] in self._part.kinds]
        if not links:
            return False
        subject, predicate, like = self._chance.one(links)
        if predicate == FIRST:
            return False
        node = self._part.fresh()
        kind = self._part.kinds[like]
        self._rows[subject, predicate, node] = None
        self._rows[node, TYPE, f"<{self._part.graph.terms[kind]}>"] = None
        self._give(node, kind)
        return True

    def remove_node(self) -> bool:
        """Take a blank node away of which little is said."""
        nodes = [node for node in sorted(self._part.kinds) if node.startswith("_:")]
        said = {node: [row for row in self._rows if node in row] for node in nodes}
        fits = [
            node
            for node in nodes
            if 0 < len(said[node]) <= _FEW and all(row[1] != FIRST for row in said[node])
        ]
        if not fits:
            return False
        for row in said[self._chance.one(fits)]:
            del self._rows[row]
        return True

    def lengthen_list(self) -> bool:
        """Put a member that a list has, or that another has, behind the last of a list."""
        ends = [row for row in self._rows if row[1:] == (REST, NIL)]
        members = [row[2] for row in self._rows if row[1] == FIRST]
        if not ends or not members:
            return False
        cell = self._part.fresh()
        self._swap(self._chance.one(ends), cell)
        self._rows[cell, FIRST, self._chance.one(members)] = None
        self._rows[cell, REST, NIL] = None
        return True

    def write_otherwise(self) -> bool:
        """Write a whole number with a leading zero, or without."""
        numbers = [row for row in self._values() if row[2].endswith(INTEGER)]
        if not numbers:
            return False
        row = self._chance.one(numbers)
        return self._swap(row, zeroed(row[2]))

    def _give(self, node: str, kind: str | None = None) -> bool:
        part = self._part
        properties = part.values(kind or part.kinds[node])
        if not properties:
            return False
        each = self._chance.one(properties)
        donors = [
            value
            for one in part.graph.instances[kind or part.kinds[node]]
            for value in one.values.get(each.iri, ())
        ]
        if not donors:
            return False
        row = (node, part.predicate(each), literal(each, self._chance.one(donors)))
        is_new = row not in self._rows
        self._rows[row] = None
        return is_new

    def _swap(self, row: Row, value: str) -> bool:
        new = (row[0], row[1], value)
        if new in self._rows:
            return False
        del self._rows[row]
        self._rows[new] = None
        return True

    def _values(self) -> list[Row]:
        return [row for row in self._rows if row[2].startswith('"')]

    def _links(self, row: Row) -> bool:
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
"""Kinds of changes, with the level from which on they come."""
