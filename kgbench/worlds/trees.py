# SPDX-License-Identifier: Apache-2.0
"""Trees that JSON-LD frames make of parts of a world: frames in parts, each of which matters.

Which tree follows from a frame is for a processor to say (:mod:`kgbench.scoring.json_ld`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kgbench.errors import TaskError
from kgbench.model import Json
from kgbench.rdf import canonical_json
from kgbench.scoring.json_ld import expanded, framed
from kgbench.vocab import RDF, RDFS
from kgbench.worlds.generator import LANGUAGES, RESOURCE, Graph, Instance, World, literal, made
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance

VERSION: Final = 1
"""Rises when the same seed gives other graphs or frames."""
LEVELS: Final = 5
_PREFIX: Final = "r"
_TRIES: Final = 400
_FEWEST: Final = {1: 1, 2: 2, 3: 5, 4: 1, 5: 5}
"""How many parts a frame of a level has at least."""
_ROOTS: Final = 3  # things of the class that a frame asks for
_OTHERS: Final = 2  # things that one of them is linked to by a property
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
"""What frames of a level ask for, of which each asks for one: all that is said of things of a
class, or what is chosen; things without what is said of those that they are linked to; choices from
linked things, too, or from what only some have; things against the direction of links, or with a
value; and both of these with choices from linked things."""


class Draft(NamedTuple):
    """A graph as lines of N-Triples, the context of frame and tree, and a frame without it."""

    triples: tuple[str, ...]
    context: Node
    frame: Node
    form: str


class Tree(NamedTuple):
    """A graph, a context, and a frame with the tree that it makes of the graph.

    No part of the frame can go without another tree.
    """

    triples: tuple[str, ...]
    context: Node
    frame: Node
    tree: Node
    form: str


class Trees:
    """Different trees of one level from a world."""

    def __init__(self, world: World, level: int) -> None:
        self._world = world
        self._level = level
        self._chance = Chance(VERSION, world.seed, world.instances, "trees", level)
        self._found: list[Tree] = []
        self._known: set[str] = set()

    def tree(self, number: int) -> Tree:
        """Return the tree with a number, from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for so many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    def _next(self) -> Tree:
        for _ in range(_TRIES):
            draft = _Drawing(made(self._world), self._level, self._chance).draft()
            found = None if draft is None else _least(draft, self._level)
            if found is not None and (key := canonical_json(found.tree)) not in self._known:
                self._known.add(key)
                return found
        raise TaskError(
            f"a world of {self._world.instances} instances is too small for more than "
            f"{len(self._found)} trees of level {self._level}"
        )


@lru_cache(maxsize=16)
def sheet(world: World, level: int) -> Trees:
    """The trees of a level from a world: remembered, since each follows from those before."""
    return Trees(world, level)


def _least(draft: Draft, level: int) -> Tree | None:
    """The tree of a draft, with what is needed of its frame; ``None`` if that is too little."""
    nodes = expanded(draft.triples)

    def made_by(frame: Node) -> Node:
        return framed(nodes, {"@context": draft.context, **frame})

    frame, tree = draft.frame, made_by(draft.frame)
    while True:
        less = next((one for one in _without_one(frame) if made_by(one) == tree), None)
        if less is None:
            break
        frame = less
    if sum(1 for _ in _without_one(frame)) < _FEWEST[level] or not _is_told(tree, draft.context):
        return None
    return Tree(draft.triples, draft.context, frame, tree, draft.form)


def _is_told(tree: Json, context: Node) -> bool:
    """Return whether a tree has words of a context alone, and a value for each."""
    if isinstance(tree, dict):
        tags = {key for key in tree if key in LANGUAGES}
        known = tree.keys() <= {*context, "@graph", *tags}
        return known and all(_is_told(value, context) for value in tree.values())
    if isinstance(tree, list):
        return bool(tree) and all(_is_told(one, context) for one in tree)
    return tree is not None


def _without_one(frame: Node) -> Iterator[Node]:
    """Yield a frame without one of its parts, for each of them."""
    for key, value in frame.items():
        yield {name: one for name, one in frame.items() if name != key}
        if isinstance(value, dict):
            yield from ({**frame, key: less} for less in _without_one(value))


class _Drawing:
    """One part of a world, and a frame for it."""

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph = graph
        self._chance = chance
        self._form = chance.one(FORMS[level])
        self._lines: dict[str, None] = {}
        self._context: Node = {"id": "@id", "type": "@type", _PREFIX: RESOURCE}
        self._context["name"] = str(RDFS.label)
        model = graph.model
        self._kind = chance.one([one for one in model.populated if self._links(one)])
        self._link = chance.one(self._links(self._kind))
        linked = [one for one in graph.of(self._kind) if self._link.iri in one.links]
        self._roots = chance.some(linked, _ROOTS)

    def draft(self) -> Draft | None:
        """Return the draft."""
        for one in self._roots:
            self._tell(one, links=True)
            for other in one.links[self._link.iri][:_OTHERS]:
                self._tell(other, links=False)
        among = [one for one in self._graph.model.populated if one != self._kind]
        for one in self._chance.some(self._graph.instances[self._chance.one(among)], _STRANGERS):
            self._tell(one, links=False)
        frame = getattr(self, f"_{self._form}")()
        if frame is None:
            return None
        return Draft(tuple(self._lines), self._context, frame, self._form)

    # Forms of frames

    def _all(self) -> Node:
        return {**self._of_kind(), self._link.key: dict(_ALWAYS)}

    def _chosen(self) -> Node | None:
        each = self._value(everywhere=True)
        return None if each is None else {**self._choice(), each.key: {}}

    def _flat(self) -> Node:
        return {**self._of_kind(), self._link.key: dict(_NEVER)}

    def _nested(self) -> Node:
        return {**self._choice(), self._link.key: dict(_WITHIN)}

    def _sparse(self) -> Node | None:
        each = self._value(everywhere=False)
        if each is None:
            return None
        return {**self._nested(), each.key: {"@omitDefault": True}}

    def _with_value(self) -> Node | None:
        each = self._value(everywhere=None)
        if each is None:
            return None
        said = [value for one in self._roots for value in one.values.get(each.iri, ())]
        wanted = literal(each, self._chance.one(said)).split('"')[1]
        return {**self._of_kind(), "@requireAll": True, each.key: wanted}

    def _valued_nested(self) -> Node | None:
        frame = self._with_value()
        return None if frame is None else {**frame, **self._nested()}

    def _reverse(self) -> Node:
        return {**self._turned(), self._turn(): {**_ALWAYS, self._link.key: dict(_NEVER)}}

    def _reverse_nested(self) -> Node:
        return {**self._turned(), self._turn(): dict(_WITHIN)}

    # What frames are made of

    def _of_kind(self) -> Node:
        return {"type": self._class(self._kind)}

    def _choice(self) -> Node:
        return {**self._of_kind(), "@explicit": True, "name": {}}

    def _turned(self) -> Node:
        return {"type": self._class(self._link.range), "@explicit": True, "name": {}}

    def _turn(self) -> str:
        """Return the key for what links to a thing."""
        word = f"{self._link.key}Of"
        self._context[word] = {"@reverse": self._graph.terms[self._link.iri], "@type": "@id"}
        return word

    def _value(self, *, everywhere: bool | None) -> Property | None:
        """A property with a number or date, of all of the things asked for, or of some of them."""
        found = [
            each
            for each in self._graph.model.has(self._kind)
            if not each.links and each.range != RDF.langString
            if (number := sum(each.iri in one.values for one in self._roots))
            if everywhere is None or everywhere == (number == len(self._roots))
        ]
        return self._chance.one(found) if found else None

    def _links(self, kind: str) -> list[Property]:
        """The properties by which things of a class are linked to things of other classes."""
        model = self._graph.model
        return [
            one
            for one in model.has(kind)
            if one.links and kind not in model.below(one.range) and one.range in model.populated
        ]

    def _tell(self, one: Instance, *, links: bool) -> None:
        """State what is known of a thing, with what it is ``linked`` to."""
        terms = self._graph.terms
        self._say(one, str(RDF.type), f"<{terms[one.kind]}>")
        self._say(one, str(RDFS.label), f'"{one.label}"')
        self._class(one.kind)
        for each in self._graph.model.has(one.kind):
            term: Node = {"@id": terms[each.iri]}
            if each.links:
                if not links or each.iri not in one.links:
                    continue
                term["@type"] = "@id"
                for other in one.links[each.iri][:_OTHERS]:
                    self._say(one, terms[each.iri], f"<{other.iri}>")
            else:
                if each.range == RDF.langString:
                    term["@container"] = "@language"
                else:
                    term["@type"] = str(each.range)
                for value in one.values.get(each.iri, ()):
                    self._say(one, terms[each.iri], literal(each, value))
            self._context[each.key] = term

    def _say(self, one: Instance, predicate: str, value: str) -> None:
        self._lines[f"<{one.iri}> <{predicate}> {value} ."] = None

    def _class(self, kind: str) -> str:
        name = self._graph.model.kinds[kind].label
        self._context[name] = self._graph.terms[kind]
        return name
