# SPDX-License-Identifier: Apache-2.0
"""Parts of a world with blank nodes, and edits of values, links, lists, nodes and leading zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kgbench.api import RDFS, XSD, Chance, Graph, Instance, Property
from kgbench.worlds.generator import literal
from kgbench.worlds.rows import FIRST, NIL, REST, TYPE, Row

LABEL: Final = f"<{RDFS.label}>"
INTEGER: Final = f"^^<{XSD.integer}>"
FLAT, NESTED, SHARED = 2, 3, 4
"""The lowest levels with blank nodes, with nested ones and lists, and with shared ones."""
_ROOTS: Final = {1: 5, 2: 4, 3: 3, 4: 4}
_DEEP: Final = {1: 0, 2: 1, 3: 2, 4: 2}
_EACH: Final = 2  # linked things of one thing and property, outside lists
_LISTED: Final = 3
_MOST: Final = 12  # described blank nodes
_TWINS: Final = 2


class Part:
    """Some things of a world with the things that they link to.

    ``rows`` are its triples, ``kinds`` maps each described node to its class, and ``features`` are
    the kinds of structure that occur.
    """

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self.graph = graph
        self.level = level
        self._chance = chance
        self._rows: dict[Row, None] = {}
        self._nodes: dict[str, str] = {}
        self._number = 0
        self.kinds: dict[str, str] = {}
        self.features: set[str] = set()
        kinds = [
            kind for kind in graph.model.populated if any(p.links for p in graph.model.has(kind))
        ]
        drawn = [chance.one(graph.instances[chance.one(kinds)]) for _ in range(_ROOTS[level])]
        self._roots = list({instance.iri: instance for instance in drawn}.values())
        self._nodes.update((instance.iri, f"<{instance.iri}>") for instance in self._roots)
        for instance in self._roots:
            self._describe(instance, f"<{instance.iri}>", 0)
        if level >= SHARED:
            self._add_twins()
            self._add_zeros()

    @property
    def rows(self) -> frozenset[Row]:
        """The triples."""
        return frozenset(self._rows)

    def fresh(self) -> str:
        """Return a new blank node."""
        self._number += 1
        return f"_:n{self._number}"

    def values(self, kind: str) -> list[Property]:
        """Return the properties of a class whose values are literals."""
        return [prop for prop in self.graph.model.has(kind) if not prop.links]

    def predicate(self, prop: Property) -> str:
        """Return the IRI of a property in N-Triples syntax."""
        return f"<{self.graph.terms[prop.iri]}>"

    def _describe(self, instance: Instance, node: str, depth: int) -> None:
        self.kinds[node] = instance.kind
        self._add(node, TYPE, f"<{self.graph.terms[instance.kind]}>")
        if depth == 0 or (self.level < SHARED and self._chance.between(0, 1)):
            self._add(node, LABEL, f'"{instance.label}"')
        for prop in self.graph.model.has(instance.kind):
            for value in instance.values.get(prop.iri, ()):
                self._add(node, self.predicate(prop), literal(prop, value))
            targets = instance.links.get(prop.iri, [])
            if not targets or depth > _DEEP[self.level]:
                continue
            if self.level >= NESTED and len(targets) > 1 and self._chance.between(0, 2):
                self._add_list(node, prop, targets[:_LISTED], depth)
                continue
            for target in targets[:_EACH]:
                if (other := self._node(target, depth)) is not None:
                    self._add(node, self.predicate(prop), other)

    def _node(self, target: Instance, depth: int) -> str | None:
        """Return the node for a link target, described if it is new; ``None`` if it is left out."""
        if target.iri in self._nodes:
            if self._nodes[target.iri].startswith("_:"):
                self.features.add("shared")
            return self._nodes[target.iri]
        if self.level < FLAT:
            return f"<{target.iri}>"
        if depth >= _DEEP[self.level] or len(self.kinds) - len(self._roots) >= _MOST:
            return None
        node = self.fresh()
        self.features.add("nested" if depth else "flat")
        if self.level >= SHARED:
            self._nodes[target.iri] = node
        self._describe(target, node, depth + 1)
        return node

    def _add_list(self, node: str, prop: Property, targets: list[Instance], depth: int) -> None:
        members = [other for target in targets if (other := self._node(target, depth)) is not None]
        if not members:
            return
        self.features.add("list")
        list_nodes = [self.fresh() for _ in members]
        self._add(node, self.predicate(prop), list_nodes[0])
        for index, member in enumerate(members):
            self._add(list_nodes[index], FIRST, member)
            self._add(list_nodes[index], REST, [*list_nodes[1:], NIL][index])

    def _add_twins(self) -> None:
        """Copy some blank nodes without one of their values, with a link to each copy."""
        described = [node for node in self.kinds if node.startswith("_:")]
        for node in self._chance.some(described, _TWINS):
            about = [row for row in self._rows if row[0] == node]
            users = [row for row in self._rows if row[2] == node and row[1] != FIRST]
            values = [row for row in about if row[2].startswith('"')]
            if not users or not values:
                continue
            twin = self.fresh()
            self.kinds[twin] = self.kinds[node]
            self.features.add("alike")
            left_out = self._chance.one(values)
            for row in about:
                if row != left_out:
                    self._add(twin, row[1], row[2])
            subject, predicate, _ = self._chance.one(users)
            self._add(subject, predicate, twin)

    def _add_zeros(self) -> None:
        """Give some whole numbers a leading zero, which makes them different RDF terms."""
        numbers = [row for row in self._rows if row[2].endswith(INTEGER)]
        for row in self._chance.some(numbers, _TWINS):
            del self._rows[row]
            self._add(row[0], row[1], toggle_leading_zero(row[2]))
            self.features.add("zeros")

    def _add(self, subject: str, predicate: str, value: str) -> None:
        self._rows[subject, predicate, value] = None


def toggle_leading_zero(value: str) -> str:
    """Add a leading zero to a whole number, or strip its zeros; the result is another RDF term."""
    text = value.split('"')[1]
    return f'"{text.lstrip("0") if text.startswith("0") else "0" + text}"{INTEGER}'


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
