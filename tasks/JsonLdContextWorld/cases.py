# SPDX-License-Identifier: Apache-2.0
"""JSON documents about things of a world, with the JSON-LD contexts that turn them into triples.

The documents are plain JSON: their keys are words, and the level decides how they are mapped.
"""

from __future__ import annotations

import json
from datetime import date
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kgbench.api import RDF, RDFS, XSD, Chance, Graph, Instance, LevelSheet, Property, World
from kgbench.worlds.generator import RESOURCE, literal

LEVELS: Final = 5
_MOST: Final = 6  # properties of a thing in a document
_OTHERS: Final = 2  # linked things in a document, for each property
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
"""The features that documents of a level may have."""
_FEWEST: Final = {1: 0, 2: 2, 3: 4, 4: 5, 5: 5}
"""The fewest features of a document of a level."""
_NEW: Final = {
    2: frozenset({"dates", "digits", "language", "base", "prefix"}),
    3: frozenset({"languages", "ids", "noise"}),
    4: frozenset({"reverse", "nest", "index"}),
    5: frozenset({"homonyms"}),
}
"""The features that a level introduces; each of its documents has one of them at least."""


class Document(NamedTuple):
    """A JSON document, its JSON-LD context, and the triples of both as lines of N-Triples.

    ``features`` are the features of JSON-LD that the context needs, sorted.
    """

    text: str
    context: str
    triples: tuple[str, ...]
    features: tuple[str, ...]


class Documents(LevelSheet[Document]):
    """A sequence of different documents of one level about a world."""

    THINGS, VERSION, TRIES = "documents", 1, 200

    def _drawn(self) -> Document | None:
        return _Draft(self._graph, self._level, self._chance).document()

    def _key(self, drawn: Document) -> str:
        return drawn.text


class _Draft:
    """A document under construction, with the terms of its context and its triples."""

    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph = graph
        self._chance = chance
        self._level = level
        new = chance.some(sorted(_NEW.get(level, ())), 2)
        others = sorted(_FEATURES[level] - set(new))
        self._features = {*new, *chance.some(others, chance.between(1, len(others)))}
        if {"base", "prefix"} <= self._features:
            self._features.remove(chance.one(("base", "prefix")))
        self._used: set[str] = set()
        self._terms: dict[str, Any] = {}
        self._scoped: dict[str, dict[str, Any]] = {}
        self._lines: dict[str, None] = {}
        self._indexed: list[str] = []
        self._link_styles: dict[str, str] = {}  # how each property shows linked things
        self._tag = chance.one(("de", "en", "fr"))
        self._words = chance.one((("id", "type"), ("key", "kind"), ("uri", "is"), ("ref", "sort")))

    def document(self) -> Document | None:
        """Build the document; return ``None`` if it lacks features that its level requires."""
        graph = self._graph
        kinds = [kind for kind in graph.model.populated if len(graph.model.has(kind)) > 2]  # noqa: PLR2004
        number = 2 if "items" in self._features else 1
        roots = self._chance.some(graph.instances_of(self._chance.one(kinds)), number)
        nodes = [self._node(root, deep=True) for root in roots]
        body = nodes[0]
        if "items" in self._features:
            self._used.add("items")
            self._terms["items"] = "@graph"
            body = {"items": nodes}
        if self._has_homonyms():
            self._used.add("homonyms")
        new = _NEW.get(self._level, frozenset())
        # A node may have only one index, and processors disagree about a repeated one.
        if len(set(self._indexed)) < len(self._indexed):
            return None
        if len(self._used) < _FEWEST[self._level] or (new and not new & self._used):
            return None
        return Document(
            json.dumps(body, indent=2),
            json.dumps({"@context": self._context()}, indent=2),
            tuple(self._lines),
            tuple(sorted(self._used)),
        )

    def _has_homonyms(self) -> bool:
        """Return whether a key has different meanings in nodes of different classes."""
        meanings: dict[str, set[str]] = {}
        for terms in self._scoped.values():
            for word, meaning in terms.items():
                meanings.setdefault(word, set()).add(str(meaning))
        return any(len(values) > 1 for values in meanings.values())

    def _context(self) -> Node:
        identity, kind = self._words
        context: Node = {identity: "@id", kind: "@type"}
        if "base" in self._used:
            context["@base"] = RESOURCE
        if "prefix" in self._used:
            context[_PREFIX] = RESOURCE
        context |= self._terms
        for name, terms in self._scoped.items():
            context[name] = {"@id": self._terms[name], "@context": terms}
        return context

    def _node(self, instance: Instance, *, deep: bool) -> Node:
        """Build the JSON object of a thing; if ``deep``, with the things that it links to."""
        identity, kind = self._words
        self._add_triple(instance, f"<{RDF.type}>", f"<{self._graph.terms[instance.kind]}>")
        self._add_triple(instance, f"<{RDFS.label}>", f'"{instance.label}"')
        name = self._graph.model.kinds[instance.kind].label
        self._terms[name] = self._graph.terms[instance.kind]
        self._terms["name"] = str(RDFS.label)
        node: Node = {kind: name, identity: self._identity(instance), "name": instance.label}
        details: Node = {}
        values = details if deep and "nest" in self._features else node
        for prop in self._chance.some(self._graph.model.has(instance.kind), _MOST):
            if prop.links:
                if deep and prop.iri in instance.links:
                    node[self._word(prop)] = self._links(instance, prop)
            elif prop.iri in instance.values:
                self._value(instance, prop, values)
        if details:
            self._used.add("nest")
            self._terms["details"] = "@nest"
            node["details"] = details
        if deep and "reverse" in self._features:
            self._add_reverse(instance, node)
        if "noise" in self._features:
            self._used.add("noise")
            noise = self._chance.one(("revision", "checked", "source"))
            self._terms[noise] = None
            node[noise] = self._chance.between(1, 90)
        return node

    def _add_triple(self, instance: Instance, predicate: str, value: str) -> None:
        self._lines[f"<{instance.iri}> {predicate} {value} ."] = None

    def _identity(self, instance: Instance) -> str:
        for way, start in (("base", ""), ("prefix", f"{_PREFIX}:")):
            if way in self._features:
                self._used.add(way)
                return start + instance.iri.removeprefix(RESOURCE)
        return instance.iri

    def _word(self, prop: Property) -> str:
        """Return the key of a property: its local name on level 1, otherwise its JSON key."""
        if self._level == 1:
            return self._graph.terms[prop.iri].rpartition("/")[2]
        return prop.key

    # Values

    def _value(self, instance: Instance, prop: Property, node: Node) -> None:
        """Add the values of a property of a thing."""
        values = instance.values[prop.iri]
        if prop.range == RDF.langString:
            self._texts(instance, prop, node)
            return
        feature = "dates" if prop.range == XSD.date else "digits"
        if prop.range == XSD.date and feature not in self._features:
            return
        shown: list[Any] = [
            date.fromordinal(value).isoformat() if prop.range == XSD.date else value
            for value in values
            if isinstance(value, int)
        ]
        definition: Any = self._graph.terms[prop.iri]
        if feature in self._features:
            self._used.add(feature)
            shown = [str(value) for value in shown]
            definition = {"@id": definition, "@type": prop.range}
        word = self._word(prop)
        if "homonyms" in self._features:
            word = "date" if prop.range == XSD.date else "amount"
            name = self._graph.model.kinds[instance.kind].label
            self._scoped.setdefault(name, {})[word] = definition
        else:
            self._terms[word] = definition
        node[word] = shown[0] if len(shown) == 1 else shown
        for value in values:
            self._add_triple(instance, f"<{self._graph.terms[prop.iri]}>", literal(prop, value))

    def _texts(self, instance: Instance, prop: Property, node: Node) -> None:
        """Add texts of all languages, or only those of one language."""
        texts = {pair[1]: pair[0] for pair in instance.values[prop.iri] if isinstance(pair, tuple)}
        term = self._graph.terms[prop.iri]
        word = self._word(prop)
        if "languages" in self._features:
            self._used.add("languages")
            self._terms[word] = {"@id": term, "@container": "@language"}
            node[word] = texts
        elif "language" in self._features and self._tag in texts:
            self._used.add("language")
            self._terms[word] = {"@id": term, "@language": self._tag}
            texts = {self._tag: texts[self._tag]}
            node[word] = texts[self._tag]
        else:
            return
        for tag, text in texts.items():
            self._add_triple(instance, f"<{term}>", f'"{text}"@{tag}')

    # Links

    def _links(self, instance: Instance, prop: Property) -> Any:
        """Return the JSON value for the things that a thing links to by a property."""
        term = f"<{self._graph.terms[prop.iri]}>"
        others = instance.links[prop.iri][:_OTHERS]
        for other in others:
            self._add_triple(instance, term, f"<{other.iri}>")
        definition: Node = {"@id": self._graph.terms[prop.iri]}
        value: Any
        style = self._link_styles.setdefault(prop.iri, self._chance.one(_WAYS))
        if style == "ids" and "ids" in self._features:
            identity, _ = self._words
            nodes = {self._identity(other): self._node(other, deep=False) for other in others}
            for node in nodes.values():
                del node[identity]
            value = nodes
            definition["@container"] = "@id"
        elif style == "index" and "index" in self._features:
            value = {_index(other): self._node(other, deep=False) for other in others}
            definition["@container"] = "@index"
            self._indexed += [other.iri for other in others]
        elif style == "nested" and "nested" in self._features:
            nested = [self._node(other, deep=False) for other in others]
            value = nested[0] if len(nested) == 1 else nested
        else:
            style = "plain"
            plain = [self._identity(other) for other in others]
            value = plain[0] if len(plain) == 1 else plain
            definition["@type"] = "@id"
        if style != "plain":
            self._used.add(style)
        self._terms[self._word(prop)] = definition
        return value

    def _add_reverse(self, instance: Instance, node: Node) -> None:
        """Add the first property by which other things link to this one, as a reverse property."""
        for prop in self._graph.model.properties:
            if not prop.links or instance.kind not in self._graph.model.below(prop.range):
                continue
            sources = [
                other
                for other in self._graph.instances_of(prop.domain)
                if instance in other.links.get(prop.iri, ())
            ][:_OTHERS]
            if not sources:
                continue
            self._used.add("reverse")
            term = self._graph.terms[prop.iri]
            word = f"{self._word(prop)}Of"
            self._terms[word] = {"@reverse": term, "@type": "@id"}
            for other in sources:
                self._add_triple(other, f"<{term}>", f"<{instance.iri}>")
            value = [self._identity(other) for other in sources]
            node[word] = value[0] if len(value) == 1 else value
            return


def _index(instance: Instance) -> str:
    """Return an index key, which has no meaning in RDF."""
    return instance.label.lower().replace(" ", "-")


@lru_cache(maxsize=16)
def sheet(world: World, level: int) -> Documents:
    """Return the documents of a level about a world (cached: each depends on those before it)."""
    return Documents(world, level)
