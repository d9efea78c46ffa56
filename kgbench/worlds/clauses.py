# SPDX-License-Identifier: Apache-2.0
"""Conditions on the things that a question asks for, in words and as SPARQL patterns.

Each condition is drawn so that it holds for one thing, the *witness*, and every question has an
answer. ``?x`` is the thing asked for; other variables carry the number of the clause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Final, NamedTuple

from kgbench.vocab import RDF, XSD
from kgbench.worlds.generator import Graph, Instance
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance


class Clause(NamedTuple):
    """A condition: words that follow the plural of a class, SPARQL patterns, and its property."""

    words: str
    pattern: str
    property_iri: str


class ClauseContext(NamedTuple):
    """The context for drawing a clause: graph, witness, random draws, number for variables."""

    graph: Graph
    witness: Instance
    chance: Chance
    number: int

    def properties(self, *, links: bool) -> list[Property]:
        """Return the properties of which the witness has values, in random order."""
        has = self.witness.links if links else self.witness.values
        own = self.graph.model.has(self.witness.kind)
        return self.chance.shuffled(
            [prop for prop in own if prop.links == links and prop.iri in has]
        )

    def term(self, prop: Property) -> str:
        """Return a property in SPARQL syntax."""
        return prefixed_name(self.graph, prop.iri)

    def plural(self, kind: str) -> str:
        """Return the plural of a class."""
        return self.graph.model.kinds[kind].plural


ClauseDrawer = Callable[[ClauseContext], Clause | None]


def prefixed_name(graph: Graph, iri: str) -> str:
    """Return a term of the model as a prefixed name, with the prefix ``w``."""
    return "w:" + graph.terms[iri].rpartition("/")[2]


def linked(context: ClauseContext) -> Clause | None:
    """Require a link to a given thing."""
    for prop in context.properties(links=True):
        target = context.chance.one(context.witness.links[prop.iri])
        pattern = f'?x {context.term(prop)}/rdfs:label "{target.label}" .'
        return Clause(f"that {prop.phrase} {target.label}", pattern, prop.iri)
    return None


def bounded(context: ClauseContext) -> Clause | None:
    """Require a number or date to be at least, or at most, a given value."""
    for prop in context.properties(links=False):
        value = context.witness.values[prop.iri][0]
        if isinstance(value, tuple):
            continue
        variable = f"?v{context.number}"
        is_lower = context.chance.between(0, 1) == 1
        room = (value - prop.low if is_lower else prop.high - value) // 4
        limit = (
            value - context.chance.between(0, room)
            if is_lower
            else value + context.chance.between(0, room)
        )
        words = _bounds(prop, limit, least=is_lower)
        sign = ">=" if is_lower else "<="
        pattern = (
            f"?x {context.term(prop)} {variable} . FILTER({variable} {sign} {_term(prop, limit)})"
        )
        return Clause(f"whose {prop.label} is {words}", pattern, prop.iri)
    return None


def joined(context: ClauseContext) -> Clause | None:
    """Require a link to something that links to a given thing."""
    for prop in context.properties(links=True):
        for target in context.witness.links[prop.iri]:
            inner = context._replace(witness=target)
            for other in inner.properties(links=True):
                if other.transitive or other.iri == prop.iri:
                    continue
                last = context.chance.one(target.links[other.iri])
                kind = context.plural(other.domain)
                pattern = (
                    f'?x {context.term(prop)}/{context.term(other)}/rdfs:label "{last.label}" .'
                )
                words = f"that {prop.phrase} one of the {kind} that {other.phrase} {last.label}"
                return Clause(words, pattern, prop.iri)
    return None


def absent(context: ClauseContext) -> Clause | None:
    """Require a property to have no value."""
    has = {*context.witness.links, *context.witness.values}
    own = context.graph.model.has(context.witness.kind)
    for prop in context.chance.shuffled(
        [prop for prop in own if not prop.min_count and prop.iri not in has]
    ):
        pattern = f"FILTER NOT EXISTS {{ ?x {context.term(prop)} ?v{context.number} }}"
        return Clause(f"of which no {prop.label} is known", pattern, prop.iri)
    return None


def counted(context: ClauseContext) -> Clause | None:
    """Require at least a given number of links by a property."""
    for prop in context.properties(links=True):
        number = len(context.witness.links[prop.iri])
        if number < 2:  # noqa: PLR2004 - one is what linked things have
            continue
        variable = f"?v{context.number}"
        pattern = (
            f"{{ SELECT ?x WHERE {{ ?x {context.term(prop)} {variable} }} GROUP BY ?x "
            f"HAVING (COUNT(DISTINCT {variable}) >= {number}) }}"
        )
        words = f"that {prop.phrase} at least {number} different {context.plural(prop.range)}"
        return Clause(words, pattern, prop.iri)
    return None


def either(context: ClauseContext) -> Clause | None:
    """Require a link to one of two given things."""
    for prop in context.properties(links=True):
        target = context.chance.one(context.witness.links[prop.iri])
        other = context.chance.one(context.graph.instances_of(prop.range))
        if other.label == target.label:
            continue
        first, second = sorted((target.label, other.label))
        name = f"?v{context.number}"
        pattern = (
            f'VALUES {name} {{ "{first}" "{second}" }} ?x {context.term(prop)}/rdfs:label {name} .'
        )
        return Clause(f"that {prop.phrase} {first} or {second}", pattern, prop.iri)
    return None


def alternative(context: ClauseContext) -> Clause | None:
    """Require one of two conditions on different properties, or both."""
    first = linked(context)
    second = bounded(context)
    if first is None or second is None:
        return None
    pattern = f"{{ {first.pattern} }} UNION {{ {second.pattern} }}"
    words = f"for which at least one of the following holds: they are among those {first.words}, or"
    return Clause(
        f"{words} their {second.words.removeprefix('whose ')}", pattern, first.property_iri
    )


def in_language(context: ClauseContext) -> Clause | None:
    """Require a text in a given language."""
    names = {"de": "German", "en": "English", "fr": "French"}
    for prop in context.properties(links=False):
        if prop.range != RDF.langString:
            continue
        tags = [value[1] for value in context.witness.values[prop.iri] if isinstance(value, tuple)]
        tag = context.chance.one(sorted(tags))
        variable = f"?v{context.number}"
        pattern = f'?x {context.term(prop)} {variable} . FILTER(LANG({variable}) = "{tag}")'
        return Clause(f"that have a {prop.label} in {names[tag]}", pattern, prop.iri)
    return None


def within(context: ClauseContext) -> Clause | None:
    """Require a link to a given thing, or to something transitively linked to it."""
    for prop in context.properties(links=True):
        steps = [prop for prop in context.graph.model.has(prop.range) if prop.transitive]
        if prop.transitive or not steps:
            continue
        top = context.chance.one(context.witness.links[prop.iri])
        while (parents := top.links.get(steps[0].iri)) and context.chance.between(0, 3):
            top = parents[0]
        path = f"{context.term(prop)}/{context.term(steps[0])}*/rdfs:label"
        words = (
            f"that {prop.phrase} {top.label} or {context.plural(prop.range)} that "
            f"{steps[0].phrase} it, directly or over others"
        )
        return Clause(words, f'?x {path} "{top.label}" .', prop.iri)
    return None


KINDS: Final[Mapping[str, ClauseDrawer]] = MappingProxyType(
    {
        "link": linked,
        "filter": bounded,
        "join": joined,
        "negation": absent,
        "having": counted,
        "values": either,
        "union": alternative,
        "language": in_language,
        "path": within,
    }
)
"""The functions that draw clauses, by the SPARQL feature that they need."""


def at_least(prop: Property, limit: int) -> str:
    """Return a lower bound of a property in words."""
    return _bounds(prop, limit, least=True)


def _bounds(prop: Property, limit: int, *, least: bool) -> str:
    if prop.range == XSD.date:
        return f"{date.fromordinal(limit).isoformat()} or {'later' if least else 'earlier'}"
    return f"{'at least' if least else 'at most'} {limit}"


def _term(prop: Property, value: int) -> str:
    return str(value) if prop.range == XSD.integer else f'"{date.fromordinal(value)}"^^xsd:date'
