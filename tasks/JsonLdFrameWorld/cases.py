# SPDX-License-Identifier: Apache-2.0
"""JSON-LD frames for parts of a world, and the trees that they produce.

Every part of a frame affects its tree. A JSON-LD processor computes the tree
(:mod:`kgbench.scoring.json_ld`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kgbench.api import RDF, RDFS, Chance, Graph, Instance, Json, LevelSheet, Property, World
from kgbench.rdf import canonical_json
from kgbench.scoring.json_ld import expanded, framed
from kgbench.worlds.generator import LANGUAGES, RESOURCE, literal

LEVELS: Final = 5
_PREFIX: Final = "r"
_FEWEST: Final = {1: 1, 2: 2, 3: 5, 4: 1, 5: 5}
"""The fewest parts of a frame of a level."""
_ROOTS: Final = 3  # things of the class that a frame selects
_OTHERS: Final = 2  # link targets of one of them by a property
_STRANGERS: Final = 2  # things of another class
_ALWAYS: Final = {"@embed": "@always"}
_NEVER: Final = {"@embed": "@never"}
_WITHIN: Final = {"@explicit": True, "@embed": "@always", "name": {}}

Node = dict[str, Any]

FORMS: Final = {
    1: ("all", "chosen"),
    2: ("chosen", "flat"),
    3: ("nested", "sparse"),
    4: ("reverse", "with_value"),
    5: ("reverse_nested", "valued_nested"),
}
"""The forms of frames by level: all properties of the things of a class, or a selection; things
without the properties of linked things; selections that include linked things or optional
properties; things by reverse links, or with a given value; and both of these with selections from
linked things."""


class Tree(NamedTuple):
    """A graph as lines of N-Triples, the context of frame and tree, and a frame without context.

    The frame produces the tree from the graph; removing any part of it would change the tree.
    """

    triples: tuple[str, ...]
    context: Node
    frame: Node
    form: str
    tree: Node


class Trees(LevelSheet[Tree]):
    """A sequence of different trees of one level about a world."""

    THINGS, VERSION, TRIES = "trees", 1, 400

    def _drawn(self) -> Tree | None:
        return _Drawing(self._graph, self._level, self._chance).tree()

    def _key(self, drawn: Tree) -> str:
        return canonical_json(drawn.tree)


@lru_cache(maxsize=16)
def sheet(world: World, level: int) -> Trees:
    """Return the trees of a level about a world (cached: each depends on those before it)."""
    return Trees(world, level)


def _reduced(frame: Node, triples: Sequence[str], context: Node) -> tuple[Node, Node]:
    """Reduce a frame to its necessary parts, and return it with its tree."""
    nodes = expanded(triples)

    def made_by(frame: Node) -> Node:
        return framed(nodes, {"@context": context, **frame})

    tree = made_by(frame)
    while True:
        smaller = next((less for less in _without_one(frame) if made_by(less) == tree), None)
        if smaller is None:
            return frame, tree
        frame = smaller


def _is_complete(tree: Json, context: Node) -> bool:
    """Return whether all keys of a tree are defined in the context, and all have values."""
    if isinstance(tree, dict):
        tags = {key for key in tree if key in LANGUAGES}
        known = tree.keys() <= {*context, "@graph", *tags}
        return known and all(_is_complete(value, context) for value in tree.values())
    if isinstance(tree, list):
        return bool(tree) and all(_is_complete(item, context) for item in tree)
    return tree is not None


def _without_one(frame: Node) -> Iterator[Node]:
    """Yield a copy of a frame without one of its parts, for each part."""
    for key, value in frame.items():
        yield {name: part for name, part in frame.items() if name != key}
        if isinstance(value, dict):
            yield from ({**frame, key: smaller} for smaller in _without_one(value))


class _Drawing:
    """A part of a world and a frame for it, drawn together."""

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph = graph
        self._chance = chance
        self._level = level
        self._form = chance.one(FORMS[level])
        self._lines: dict[str, None] = {}
        self._context: Node = {"id": "@id", "type": "@type", _PREFIX: RESOURCE}
        self._context["name"] = str(RDFS.label)
        model = graph.model
        self._kind = chance.one([kind for kind in model.populated if self._links(kind)])
        self._link = chance.one(self._links(self._kind))
        linked = [
            instance
            for instance in graph.instances_of(self._kind)
            if self._link.iri in instance.links
        ]
        self._roots = chance.some(linked, _ROOTS)

    def tree(self) -> Tree | None:
        """Draw graph, frame and tree; ``None`` if the form does not fit, or too little matters."""
        for instance in self._roots:
            self._describe(instance, links=True)
            for other in instance.links[self._link.iri][:_OTHERS]:
                self._describe(other, links=False)
        kinds = [kind for kind in self._graph.model.populated if kind != self._kind]
        for stranger in self._chance.some(
            self._graph.instances[self._chance.one(kinds)], _STRANGERS
        ):
            self._describe(stranger, links=False)
        frame = getattr(self, f"_{self._form}")()
        if frame is None:
            return None
        frame, tree = _reduced(frame, [*self._lines], self._context)
        enough = sum(1 for _ in _without_one(frame)) >= _FEWEST[self._level]
        if not enough or not _is_complete(tree, self._context):
            return None
        return Tree(tuple(self._lines), self._context, frame, self._form, tree)

    # Forms of frames

    def _all(self) -> Node:
        return {**self._of_kind(), self._link.key: dict(_ALWAYS)}

    def _chosen(self) -> Node | None:
        prop = self._value(everywhere=True)
        return None if prop is None else {**self._choice(), prop.key: {}}

    def _flat(self) -> Node:
        return {**self._of_kind(), self._link.key: dict(_NEVER)}

    def _nested(self) -> Node:
        return {**self._choice(), self._link.key: dict(_WITHIN)}

    def _sparse(self) -> Node | None:
        prop = self._value(everywhere=False)
        if prop is None:
            return None
        return {**self._nested(), prop.key: {"@omitDefault": True}}

    def _with_value(self) -> Node | None:
        prop = self._value(everywhere=None)
        if prop is None:
            return None
        values = [value for instance in self._roots for value in instance.values.get(prop.iri, ())]
        chosen = literal(prop, self._chance.one(values)).split('"')[1]
        return {**self._of_kind(), "@requireAll": True, prop.key: chosen}

    def _valued_nested(self) -> Node | None:
        frame = self._with_value()
        return None if frame is None else {**frame, **self._nested()}

    def _reverse(self) -> Node:
        return {**self._of_range(), self._reverse_key(): {**_ALWAYS, self._link.key: dict(_NEVER)}}

    def _reverse_nested(self) -> Node:
        return {**self._of_range(), self._reverse_key(): dict(_WITHIN)}

    # Parts of frames

    def _of_kind(self) -> Node:
        return {"type": self._class(self._kind)}

    def _choice(self) -> Node:
        return {**self._of_kind(), "@explicit": True, "name": {}}

    def _of_range(self) -> Node:
        return {"type": self._class(self._link.range), "@explicit": True, "name": {}}

    def _reverse_key(self) -> str:
        """Add and return the key of the reverse property of the link."""
        word = f"{self._link.key}Of"
        self._context[word] = {"@reverse": self._graph.terms[self._link.iri], "@type": "@id"}
        return word

    def _value(self, *, everywhere: bool | None) -> Property | None:
        """Draw a number or date property that all selected things have, or only some, or either."""
        candidates = [
            prop
            for prop in self._graph.model.has(self._kind)
            if not prop.links and prop.range != RDF.langString
            if (count := sum(prop.iri in instance.values for instance in self._roots))
            if everywhere is None or everywhere == (count == len(self._roots))
        ]
        return self._chance.one(candidates) if candidates else None

    def _links(self, kind: str) -> list[Property]:
        """Return the properties that link things of a class to things of other classes."""
        model = self._graph.model
        return [
            prop
            for prop in model.has(kind)
            if prop.links and kind not in model.below(prop.range) and prop.range in model.populated
        ]

    def _describe(self, instance: Instance, *, links: bool) -> None:
        """Add the triples and context terms of a thing; with ``links``, also those of its links."""
        terms = self._graph.terms
        self._add_triple(instance, str(RDF.type), f"<{terms[instance.kind]}>")
        self._add_triple(instance, str(RDFS.label), f'"{instance.label}"')
        self._class(instance.kind)
        for prop in self._graph.model.has(instance.kind):
            term: Node = {"@id": terms[prop.iri]}
            if prop.links:
                if not links or prop.iri not in instance.links:
                    continue
                term["@type"] = "@id"
                for other in instance.links[prop.iri][:_OTHERS]:
                    self._add_triple(instance, terms[prop.iri], f"<{other.iri}>")
            else:
                if prop.range == RDF.langString:
                    term["@container"] = "@language"
                else:
                    term["@type"] = str(prop.range)
                for value in instance.values.get(prop.iri, ()):
                    self._add_triple(instance, terms[prop.iri], literal(prop, value))
            self._context[prop.key] = term

    def _add_triple(self, instance: Instance, predicate: str, value: str) -> None:
        self._lines[f"<{instance.iri}> <{predicate}> {value} ."] = None

    def _class(self, kind: str) -> str:
        name = self._graph.model.kinds[kind].label
        self._context[name] = self._graph.terms[kind]
        return name
