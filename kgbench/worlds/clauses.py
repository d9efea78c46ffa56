# SPDX-License-Identifier: Apache-2.0
"""Conditions on the things that a question asks for: in words, and as patterns of SPARQL.

Each is drawn so that it holds for one thing, the *witness*: so every question has an answer.
``?x`` is the thing that is asked for; other variables carry the number of the clause.
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
    """A condition: words that follow the plural of a class, patterns, and the property it is on."""

    words: str
    pattern: str
    about: str


class Place(NamedTuple):
    """What clauses are drawn for: a witness in a graph, by chance, with a number for variables."""

    graph: Graph
    witness: Instance
    chance: Chance
    number: int

    def properties(self, *, links: bool) -> list[Property]:
        """Return the properties that the witness has, in the order of chance."""
        has = self.witness.links if links else self.witness.values
        own = self.graph.model.has(self.witness.kind)
        return self.chance.shuffled([one for one in own if one.links == links and one.iri in has])

    def term(self, each: Property) -> str:
        """Return a property as SPARQL writes it."""
        return shown(self.graph, each.iri)

    def plural(self, kind: str) -> str:
        """Return the plural of a class."""
        return self.graph.model.kinds[kind].plural


Kind = Callable[[Place], Clause | None]


def shown(graph: Graph, iri: str) -> str:
    """Return a term of the model as queries about a world write it, with the prefix ``w``."""
    return "w:" + graph.terms[iri].rpartition("/")[2]


def linked(at: Place) -> Clause | None:
    """That they are linked to a certain thing."""
    for each in at.properties(links=True):
        target = at.chance.one(at.witness.links[each.iri])
        pattern = f'?x {at.term(each)}/rdfs:label "{target.label}" .'
        return Clause(f"that {each.phrase} {target.label}", pattern, each.iri)
    return None


def bounded(at: Place) -> Clause | None:
    """That a number or date of theirs is at least, or at most, a certain one."""
    for each in at.properties(links=False):
        value = at.witness.values[each.iri][0]
        if isinstance(value, tuple):
            continue
        variable = f"?v{at.number}"
        least = at.chance.between(0, 1) == 1
        room = (value - each.low if least else each.high - value) // 4
        limit = value - at.chance.between(0, room) if least else value + at.chance.between(0, room)
        words = _bounds(each, limit, least=least)
        sign = ">=" if least else "<="
        pattern = f"?x {at.term(each)} {variable} . FILTER({variable} {sign} {_term(each, limit)})"
        return Clause(f"whose {each.label} is {words}", pattern, each.iri)
    return None


def joined(at: Place) -> Clause | None:
    """That they are linked to something that is linked to a certain thing."""
    for each in at.properties(links=True):
        for target in at.witness.links[each.iri]:
            inner = at._replace(witness=target)
            for other in inner.properties(links=True):
                if other.transitive or other.iri == each.iri:
                    continue
                last = at.chance.one(target.links[other.iri])
                kind = at.plural(other.domain)
                pattern = f'?x {at.term(each)}/{at.term(other)}/rdfs:label "{last.label}" .'
                words = f"that {each.phrase} one of the {kind} that {other.phrase} {last.label}"
                return Clause(words, pattern, each.iri)
    return None


def absent(at: Place) -> Clause | None:
    """That nothing is known of a property of theirs."""
    has = {*at.witness.links, *at.witness.values}
    own = at.graph.model.has(at.witness.kind)
    for each in at.chance.shuffled([one for one in own if not one.least and one.iri not in has]):
        pattern = f"FILTER NOT EXISTS {{ ?x {at.term(each)} ?v{at.number} }}"
        return Clause(f"of which no {each.label} is known", pattern, each.iri)
    return None


def counted(at: Place) -> Clause | None:
    """That they are linked to at least so many things by a property."""
    for each in at.properties(links=True):
        number = len(at.witness.links[each.iri])
        if number < 2:  # noqa: PLR2004 - one is what linked things have
            continue
        variable = f"?v{at.number}"
        pattern = (
            f"{{ SELECT ?x WHERE {{ ?x {at.term(each)} {variable} }} GROUP BY ?x "
            f"HAVING (COUNT(DISTINCT {variable}) >= {number}) }}"
        )
        words = f"that {each.phrase} at least {number} different {at.plural(each.range)}"
        return Clause(words, pattern, each.iri)
    return None


def either(at: Place) -> Clause | None:
    """That they are linked to one of two certain things."""
    for each in at.properties(links=True):
        target = at.chance.one(at.witness.links[each.iri])
        other = at.chance.one(at.graph.of(each.range))
        if other.label == target.label:
            continue
        first, second = sorted((target.label, other.label))
        name = f"?v{at.number}"
        pattern = f'VALUES {name} {{ "{first}" "{second}" }} ?x {at.term(each)}/rdfs:label {name} .'
        return Clause(f"that {each.phrase} {first} or {second}", pattern, each.iri)
    return None


def alternative(at: Place) -> Clause | None:
    """That one of two conditions on different properties holds, or both."""
    first = linked(at)
    second = bounded(at)
    if first is None or second is None:
        return None
    pattern = f"{{ {first.pattern} }} UNION {{ {second.pattern} }}"
    words = f"for which at least one of the following holds: they are among those {first.words}, or"
    return Clause(f"{words} their {second.words.removeprefix('whose ')}", pattern, first.about)


def in_language(at: Place) -> Clause | None:
    """That they have a text in a certain language."""
    names = {"de": "German", "en": "English", "fr": "French"}
    for each in at.properties(links=False):
        if each.range != RDF.langString:
            continue
        tags = [one[1] for one in at.witness.values[each.iri] if isinstance(one, tuple)]
        tag = at.chance.one(sorted(tags))
        variable = f"?v{at.number}"
        pattern = f'?x {at.term(each)} {variable} . FILTER(LANG({variable}) = "{tag}")'
        return Clause(f"that have a {each.label} in {names[tag]}", pattern, each.iri)
    return None


def within(at: Place) -> Clause | None:
    """That they are linked to a certain thing, or to what belongs to it, however indirectly."""
    for each in at.properties(links=True):
        steps = [one for one in at.graph.model.has(each.range) if one.transitive]
        if each.transitive or not steps:
            continue
        top = at.chance.one(at.witness.links[each.iri])
        while (above := top.links.get(steps[0].iri)) and at.chance.between(0, 3):
            top = above[0]
        path = f"{at.term(each)}/{at.term(steps[0])}*/rdfs:label"
        words = (
            f"that {each.phrase} {top.label} or {at.plural(each.range)} that {steps[0].phrase} "
            "it, directly or over others"
        )
        return Clause(words, f'?x {path} "{top.label}" .', each.iri)
    return None


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
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
"""The clauses by the feature of SPARQL that they need."""


def at_least(each: Property, limit: int) -> str:
    """Return a lower bound of a property in words."""
    return _bounds(each, limit, least=True)


def _bounds(each: Property, limit: int, *, least: bool) -> str:
    if each.range == XSD.date:
        return f"{date.fromordinal(limit).isoformat()} or {'later' if least else 'earlier'}"
    return f"{'at least' if least else 'at most'} {limit}"


def _term(each: Property, value: int) -> str:
    return str(value) if each.range == XSD.integer else f'"{date.fromordinal(value)}"^^xsd:date'
