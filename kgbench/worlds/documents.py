# SPDX-License-Identifier: Apache-2.0
"""JSON documents about things of a world, with the JSON-LD context by which they say its triples.

A document knows nothing of RDF: its keys are words, and what they mean depends on the level.
"""

from __future__ import annotations

import json
from datetime import date
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kgbench.errors import TaskError
from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.generator import RESOURCE, Graph, Instance, World, literal, made
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance

VERSION: Final = 1
"""Rises when the same seed gives other documents."""
LEVELS: Final = 5
_TRIES: Final = 200
_MOST: Final = 6  # properties of a thing that a document tells
_OTHERS: Final = 2  # linked things that a document tells of, for each property
_WAYS: Final = ("nested", "ids", "index", "plain")
_PREFIX: Final = "r"

Node = dict[str, Any]


_FIRST: Final = frozenset({"nested"})
_TYPED: Final = _FIRST | {"dates", "digits", "language", "base", "prefix"}
_MAPS: Final = _TYPED | {"languages", "ids", "noise", "items"}
_TURNED: Final = _MAPS | {"reverse", "nest", "index"}
_FEATURES: Final = {
    1: _FIRST,
    2: _TYPED,
    3: _MAPS,
    4: _TURNED,
    5: _TURNED | {"homonyms"},
}
"""What documents of a level may have, beside words for properties and links to things."""
_FEWEST: Final = {1: 0, 2: 2, 3: 4, 4: 5, 5: 5}
"""How many of these a document of a level has at least."""
_NEW: Final = {
    2: frozenset({"dates", "digits", "language", "base", "prefix"}),
    3: frozenset({"languages", "ids", "noise"}),
    4: frozenset({"reverse", "nest", "index"}),
    5: frozenset({"homonyms"}),
}
"""What is new on a level: a document has one of these at least."""


class Document(NamedTuple):
    """A JSON document, the context that makes it mean the triples, and these, as N-Triples lines.

    ``features`` are what the context must express, sorted.
    """

    text: str
    context: str
    triples: tuple[str, ...]
    features: tuple[str, ...]


class Documents:
    """Different documents of one level about a world."""

    def __init__(self, world: World, level: int) -> None:
        self._graph = made(world)
        self._level = level
        self._chance = Chance(VERSION, world.seed, world.instances, "documents", level)
        self._found: list[Document] = []
        self._known: set[str] = set()

    def document(self, number: int) -> Document:
        """Return the document with a number, from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for so many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    def _next(self) -> Document:
        for _ in range(_TRIES):
            draft = _Draft(self._graph, self._level, self._chance)
            made_ = draft.document()
            if made_ is not None and made_.text not in self._known:
                self._known.add(made_.text)
                return made_
        raise TaskError(
            f"a world of {self._graph.world.instances} instances is too small for more than "
            f"{len(self._found)} documents of level {self._level}"
        )


class _Draft:
    """One document while it is written, with the terms of its context and its triples."""

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph = graph
        self._chance = chance
        self._level = level
        wanted = chance.some(sorted(_NEW.get(level, ())), 2)
        others = sorted(_FEATURES[level] - set(wanted))
        self._wanted = {*wanted, *chance.some(others, chance.between(1, len(others)))}
        if {"base", "prefix"} <= self._wanted:
            self._wanted.remove(chance.one(("base", "prefix")))
        self._used: set[str] = set()
        self._terms: dict[str, Any] = {}
        self._scoped: dict[str, dict[str, Any]] = {}
        self._lines: dict[str, None] = {}
        self._indexed: list[str] = []
        self._ways: dict[str, str] = {}  # how things linked by a property are told of
        self._tag = chance.one(("de", "en", "fr"))
        self._words = chance.one((("id", "type"), ("key", "kind"), ("uri", "is"), ("ref", "sort")))

    def document(self) -> Document | None:
        """Return the document; ``None`` if it does not show what its level asks for."""
        graph = self._graph
        kinds = [kind for kind in graph.model.populated if len(graph.model.has(kind)) > 2]  # noqa: PLR2004
        roots = self._chance.some(graph.of(self._chance.one(kinds)), self._roots())
        nodes = [self._node(root, deep=True) for root in roots]
        body = nodes[0]
        if "items" in self._wanted:
            self._used.add("items")
            self._terms["items"] = "@graph"
            body = {"items": nodes}
        if self._has_homonyms():
            self._used.add("homonyms")
        new = _NEW.get(self._level, frozenset())
        if len(set(self._indexed)) < len(self._indexed):
            return None  # a node may have one index, and processors differ on the same one twice
        if len(self._used) < _FEWEST[self._level] or (new and not new & self._used):
            return None
        return Document(
            json.dumps(body, indent=2),
            json.dumps({"@context": self._context()}, indent=2),
            tuple(self._lines),
            tuple(sorted(self._used)),
        )

    def _has_homonyms(self) -> bool:
        """Return whether a word means different things in things of different classes."""
        meanings: dict[str, set[str]] = {}
        for terms in self._scoped.values():
            for word, meant in terms.items():
                meanings.setdefault(word, set()).add(str(meant))
        return any(len(each) > 1 for each in meanings.values())

    def _roots(self) -> int:
        return 2 if "items" in self._wanted else 1

    def _context(self) -> Node:
        identity, kind = self._words
        found: Node = {identity: "@id", kind: "@type"}
        if "base" in self._used:
            found["@base"] = RESOURCE
        if "prefix" in self._used:
            found[_PREFIX] = RESOURCE
        found |= self._terms
        for name, terms in self._scoped.items():
            found[name] = {"@id": self._terms[name], "@context": terms}
        return found

    def _node(self, one: Instance, *, deep: bool) -> Node:
        """Return what a document tells of a thing, with linked things where it goes ``deep``."""
        identity, kind = self._words
        self._say(one, f"<{RDF.type}>", f"<{self._graph.terms[one.kind]}>")
        self._say(one, f"<{RDFS.label}>", f'"{one.label}"')
        name = self._graph.model.kinds[one.kind].label
        self._terms[name] = self._graph.terms[one.kind]
        self._terms["name"] = str(RDFS.label)
        node: Node = {kind: name, identity: self._identity(one), "name": one.label}
        details: Node = {}
        for each in self._chance.some(self._graph.model.has(one.kind), _MOST):
            if each.links:
                if deep and each.iri in one.links:
                    node[self._word(each)] = self._linked(one, each)
            elif each.iri in one.values:
                self._value(one, each, details if self._nests(deep=deep) else node)
        if details:
            self._used.add("nest")
            self._terms["details"] = "@nest"
            node["details"] = details
        if deep and "reverse" in self._wanted:
            self._turned(one, node)
        if "noise" in self._wanted:
            self._used.add("noise")
            noise = self._chance.one(("revision", "checked", "source"))
            self._terms[noise] = None
            node[noise] = self._chance.between(1, 90)
        return node

    def _nests(self, *, deep: bool) -> bool:
        return deep and "nest" in self._wanted

    def _say(self, one: Instance, predicate: str, value: str) -> None:
        self._lines[f"<{one.iri}> {predicate} {value} ."] = None

    def _identity(self, one: Instance) -> str:
        for way, start in (("base", ""), ("prefix", f"{_PREFIX}:")):
            if way in self._wanted:
                self._used.add(way)
                return start + one.iri.removeprefix(RESOURCE)
        return one.iri

    def _word(self, each: Property) -> str:
        """Return the key of a property: its name on the first level, else what it is called."""
        if self._level == 1:
            return self._graph.terms[each.iri].rpartition("/")[2]
        return each.key

    # Values

    def _value(self, one: Instance, each: Property, node: Node) -> None:
        """State the values of a property of a thing."""
        values = one.values[each.iri]
        if each.range == RDF.langString:
            self._texts(one, each, node)
            return
        wanted = "dates" if each.range == XSD.date else "digits"
        if each.range == XSD.date and wanted not in self._wanted:
            return
        shown: list[Any] = [
            date.fromordinal(value).isoformat() if each.range == XSD.date else value
            for value in values
            if isinstance(value, int)
        ]
        meant: Any = self._graph.terms[each.iri]
        if wanted in self._wanted:
            self._used.add(wanted)
            shown = [str(value) for value in shown]
            meant = {"@id": meant, "@type": each.range}
        word = self._word(each)
        if "homonyms" in self._wanted:
            word = "date" if each.range == XSD.date else "amount"
            name = self._graph.model.kinds[one.kind].label
            self._scoped.setdefault(name, {})[word] = meant
        else:
            self._terms[word] = meant
        node[word] = shown[0] if len(shown) == 1 else shown
        for value in values:
            self._say(one, f"<{self._graph.terms[each.iri]}>", literal(each, value))

    def _texts(self, one: Instance, each: Property, node: Node) -> None:
        """State texts with their languages, or those of one language."""
        texts = {pair[1]: pair[0] for pair in one.values[each.iri] if isinstance(pair, tuple)}
        term = self._graph.terms[each.iri]
        word = self._word(each)
        if "languages" in self._wanted:
            self._used.add("languages")
            self._terms[word] = {"@id": term, "@container": "@language"}
            node[word] = texts
        elif "language" in self._wanted and self._tag in texts:
            self._used.add("language")
            self._terms[word] = {"@id": term, "@language": self._tag}
            texts = {self._tag: texts[self._tag]}
            node[word] = texts[self._tag]
        else:
            return
        for tag, text in texts.items():
            self._say(one, f"<{term}>", f'"{text}"@{tag}')

    # Links

    def _linked(self, one: Instance, each: Property) -> Any:
        """Return the things that a thing is linked to by a property."""
        term = f"<{self._graph.terms[each.iri]}>"
        others = one.links[each.iri][:_OTHERS]
        for other in others:
            self._say(one, term, f"<{other.iri}>")
        meant: Node = {"@id": self._graph.terms[each.iri]}
        shown: Any
        told = self._ways.setdefault(each.iri, self._chance.one(_WAYS))
        if told == "ids" and "ids" in self._wanted:
            identity, _ = self._words
            nodes = {self._identity(other): self._node(other, deep=False) for other in others}
            shown = {key: _without(node, identity) for key, node in nodes.items()}
            meant["@container"] = "@id"
        elif told == "index" and "index" in self._wanted:
            shown = {_index(other): self._node(other, deep=False) for other in others}
            meant["@container"] = "@index"
            self._indexed += [other.iri for other in others]
        elif told == "nested" and "nested" in self._wanted:
            nested = [self._node(other, deep=False) for other in others]
            shown = nested[0] if len(nested) == 1 else nested
        else:
            told = "plain"
            plain = [self._identity(other) for other in others]
            shown = plain[0] if len(plain) == 1 else plain
            meant["@type"] = "@id"
        if told != "plain":
            self._used.add(told)
        self._terms[self._word(each)] = meant
        return shown

    def _turned(self, one: Instance, node: Node) -> None:
        """Tell who links to a thing, from the side of the thing."""
        for each in self._graph.model.properties:
            if not each.links or one.kind not in self._graph.model.below(each.range):
                continue
            sources = [
                other
                for other in self._graph.of(each.domain)
                if one in other.links.get(each.iri, ())
            ][:_OTHERS]
            if not sources:
                continue
            self._used.add("reverse")
            term = self._graph.terms[each.iri]
            word = f"{self._word(each)}Of"
            self._terms[word] = {"@reverse": term, "@type": "@id"}
            for other in sources:
                self._say(other, f"<{term}>", f"<{one.iri}>")
            shown = [self._identity(other) for other in sources]
            node[word] = shown[0] if len(shown) == 1 else shown
            return


def _index(one: Instance) -> str:
    """Return a key that says nothing in RDF."""
    return one.label.lower().replace(" ", "-")


def _without(node: Node, key: str) -> Node:
    return {name: value for name, value in node.items() if name != key}


@lru_cache(maxsize=16)
def sheet(world: World, level: int) -> Documents:
    """The documents of a level about a world: remembered, since each follows from those before."""
    return Documents(world, level)
