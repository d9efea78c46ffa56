# SPDX-License-Identifier: Apache-2.0
"""Parts of a world with blank nodes: flat, nested, in lists, shared, and nearly alike."""

from __future__ import annotations

from typing import Final

from kgbench.vocab import RDFS, XSD
from kgbench.worlds.generator import Graph, Instance, literal
from kgbench.worlds.matching import Row
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance
from kgbench.worlds.spellings import FIRST, NIL, REST, TYPE

LABEL: Final = f"<{RDFS.label}>"
INTEGER: Final = f"^^<{XSD.integer}>"
FLAT, NESTED, SHARED = 2, 3, 4
"""The levels from which on there are blank nodes, nested ones and lists, and shared ones."""
_ROOTS: Final = {1: 5, 2: 4, 3: 3, 4: 4}
_DEEP: Final = {1: 0, 2: 1, 3: 2, 4: 2}
_EACH: Final = 2  # things that one is linked to by a property, outside of lists
_LISTED: Final = 3
_MOST: Final = 12  # blank nodes with a description
_TWINS: Final = 2


class Part:
    """Some things of a world with what they are linked to.

    ``rows`` are its triples; ``kinds`` has the class of each node that is described, ``features``
    the kinds of structure.
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
        kinds = [one for one in graph.model.populated if any(p.links for p in graph.model.has(one))]
        drawn = [chance.one(graph.instances[chance.one(kinds)]) for _ in range(_ROOTS[level])]
        self._roots = list({one.iri: one for one in drawn}.values())
        self._nodes.update((one.iri, f"<{one.iri}>") for one in self._roots)
        for one in self._roots:
            self._tell(one, f"<{one.iri}>", 0)
        if level >= SHARED:
            self._twins()
            self._zeros()

    @property
    def rows(self) -> frozenset[Row]:
        """The triples."""
        return frozenset(self._rows)

    def fresh(self) -> str:
        """Return a new blank node."""
        self._number += 1
        return f"_:n{self._number}"

    def values(self, kind: str) -> list[Property]:
        """Return the properties of things of a class whose values are literals."""
        return [one for one in self.graph.model.has(kind) if not one.links]

    def predicate(self, each: Property) -> str:
        """Return a property as N-Triples writes it."""
        return f"<{self.graph.terms[each.iri]}>"

    def _tell(self, one: Instance, node: str, depth: int) -> None:
        self.kinds[node] = one.kind
        self._say(node, TYPE, f"<{self.graph.terms[one.kind]}>")
        if depth == 0 or (self.level < SHARED and self._chance.between(0, 1)):
            self._say(node, LABEL, f'"{one.label}"')
        for each in self.graph.model.has(one.kind):
            for value in one.values.get(each.iri, ()):
                self._say(node, self.predicate(each), literal(each, value))
            targets = one.links.get(each.iri, [])
            if not targets or depth > _DEEP[self.level]:
                continue
            if self.level >= NESTED and len(targets) > 1 and self._chance.between(0, 2):
                self._list(node, each, targets[:_LISTED], depth)
                continue
            for target in targets[:_EACH]:
                if (other := self._node(target, depth)) is not None:
                    self._say(node, self.predicate(each), other)

    def _node(self, target: Instance, depth: int) -> str | None:
        """What stands for a thing that another is linked to; ``None`` if it is left out."""
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
        self._tell(target, node, depth + 1)
        return node

    def _list(self, node: str, each: Property, targets: list[Instance], depth: int) -> None:
        members = [other for one in targets if (other := self._node(one, depth)) is not None]
        if not members:
            return
        self.features.add("list")
        cells = [self.fresh() for _ in members]
        self._say(node, self.predicate(each), cells[0])
        for place, member in enumerate(members):
            self._say(cells[place], FIRST, member)
            self._say(cells[place], REST, [*cells[1:], NIL][place])

    def _twins(self) -> None:
        """Blank nodes that differ from others in one value, linked from where these are linked."""
        told = [node for node in self.kinds if node.startswith("_:")]
        for node in self._chance.some(told, _TWINS):
            about = [row for row in self._rows if row[0] == node]
            users = [row for row in self._rows if row[2] == node and row[1] != FIRST]
            values = [row for row in about if row[2].startswith('"')]
            if not users or not values:
                continue
            other = self.fresh()
            self.kinds[other] = self.kinds[node]
            self.features.add("alike")
            left_out = self._chance.one(values)
            for row in about:
                if row != left_out:
                    self._say(other, row[1], row[2])
            subject, predicate, _ = self._chance.one(users)
            self._say(subject, predicate, other)

    def _zeros(self) -> None:
        """Write some whole numbers with leading zeros, which makes other terms of them."""
        numbers = [row for row in self._rows if row[2].endswith(INTEGER)]
        for row in self._chance.some(numbers, _TWINS):
            del self._rows[row]
            self._say(row[0], row[1], zeroed(row[2]))
            self.features.add("zeros")

    def _say(self, subject: str, predicate: str, value: str) -> None:
        self._rows[subject, predicate, value] = None


def zeroed(value: str) -> str:
    """A whole number with a leading zero, or without those that it has; another term of RDF."""
    text = value.split('"')[1]
    return f'"{text.lstrip("0") if text.startswith("0") else "0" + text}"{INTEGER}'
