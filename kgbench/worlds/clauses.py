# SPDX-License-Identifier: Apache-2.0
"""Questions about a world, the forms that they have, and conditions on what they ask for.

Each condition is drawn so that it holds for one thing, the *witness*, and every question has an
answer. ``?x`` is the thing asked for; other variables carry the number of the clause. Where a part
of a condition concerns other things than the witness, such as the second of two alternatives, it is
drawn from a thing that meets the other conditions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from kgbench.vocab import RDF, XSD
from kgbench.worlds import misreadings
from kgbench.worlds.generator import Graph, Instance
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance


class Clause(NamedTuple):
    """A condition: words that follow the plural of a class, SPARQL patterns, and its property.

    ``mistakes`` are parts of the patterns with what a query has instead that misreads this part.
    ``misread_as`` are the functions that misread its bounds.
    """

    words: str
    pattern: str
    property_iri: str
    mistakes: tuple[tuple[str, str], ...] = ()
    misread_as: tuple[Callable[[str], Iterator[str]], ...] = (
        misreadings.exclusive,
        misreadings.of_any_value,
        misreadings.of_another_type,
    )

    def misread(self) -> list[Clause]:
        """Return the condition with each of the mistakes, and with its bounds misread."""
        patterns = [self.pattern.replace(part, other) for part, other in self.mistakes]
        patterns += chain.from_iterable(misread(self.pattern) for misread in self.misread_as)
        return [self._replace(pattern=pattern) for pattern in patterns]


class ClauseContext(NamedTuple):
    """The context for drawing a clause: graph, witness, random draws, number for variables.

    ``free`` has the IRIs of the properties that the clause may be about. ``things`` returns what
    meets the conditions that were drawn before, with the witness.
    """

    graph: Graph
    witness: Instance
    free: AbstractSet[str]
    things: Callable[[], Sequence[Instance]]
    chance: Chance
    number: int

    def properties(self, *, links: bool) -> list[Property]:
        """Return the free properties of which the witness has values, in random order."""
        has = self.free & (self.witness.links if links else self.witness.values).keys()
        own = self.graph.model.has(self.witness.kind)
        return self.chance.shuffled([prop for prop in own if prop.iri in has])

    def term(self, prop: Property) -> str:
        """Return a property in SPARQL syntax."""
        return prefixed_name(self.graph, prop.iri)

    def plural(self, kind: str) -> str:
        """Return the plural of a class."""
        return self.graph.model.kinds[kind].plural


_VALUES: Final = re.compile(r'(VALUES \?\w+ \{) ("[^"]*") ("[^"]*") (\}.*)')
ClauseDrawer = Callable[[ClauseContext], Iterator[Clause]]


def prefixed_name(graph: Graph, iri: str) -> str:
    """Return a term of the model as a prefixed name, with the prefix ``w``."""
    return "w:" + graph.terms[iri].rpartition("/")[2]


def linked(context: ClauseContext) -> Iterator[Clause]:
    """Require a link to a given thing."""
    for prop in context.properties(links=True):
        for target in context.chance.shuffled(context.witness.links[prop.iri]):
            yield _link(context, prop, target)


def bounded(context: ClauseContext) -> Iterator[Clause]:
    """Require a number or date to be at least, or at most, that of the witness."""
    for prop in context.properties(links=False):
        for value in _values([context.witness], prop):
            for least in context.chance.shuffled((True, False)):
                yield _bound(context, prop, value, least=least)


def joined(context: ClauseContext) -> Iterator[Clause]:
    """Require a link to something that links to a given thing."""
    for prop in context.properties(links=True):
        for target in context.chance.shuffled(context.witness.links[prop.iri]):
            inner = context._replace(witness=target, free=target.links.keys() - {prop.iri})
            for other in inner.properties(links=True):
                if other.transitive:
                    continue
                last = context.chance.one(target.links[other.iri])
                kind = context.plural(other.domain)
                pattern = (
                    f'?x {context.term(prop)}/{context.term(other)}/rdfs:label "{last.label}" .'
                )
                words = f"that {prop.phrase} one of the {kind} that {other.phrase} {last.label}"
                yield Clause(words, pattern, prop.iri)


def absent(context: ClauseContext) -> Iterator[Clause]:
    """Require a property to have no value."""
    free = context.free - context.witness.links.keys() - context.witness.values.keys()
    own = context.graph.model.has(context.witness.kind)
    for prop in context.chance.shuffled(
        [prop for prop in own if not prop.min_count and prop.iri in free]
    ):
        pattern = f"FILTER NOT EXISTS {{ ?x {context.term(prop)} ?v{context.number} }}"
        yield Clause(f"of which no {prop.label} is known", pattern, prop.iri)


def counted(context: ClauseContext) -> Iterator[Clause]:
    """Require at least a given number of links by a property."""
    for prop in context.properties(links=True):
        number = len(context.witness.links[prop.iri])
        if number < 2:  # noqa: PLR2004 - one is what linked things have
            continue
        variable = f"?v{context.number}"
        having = f" HAVING (COUNT(DISTINCT {variable}) >= {number})"
        pattern = (
            f"{{ SELECT ?x WHERE {{ ?x {context.term(prop)} {variable} }} GROUP BY ?x{having} }}"
        )
        words = f"that {prop.phrase} at least {number} different {context.plural(prop.range)}"
        yield Clause(words, pattern, prop.iri, ((having, ""),))


def in_language(context: ClauseContext) -> Iterator[Clause]:
    """Require a text in a given language."""
    names = {"de": "German", "en": "English", "fr": "French"}
    for prop in context.properties(links=False):
        if prop.range != RDF.langString:
            continue
        tags = [value[1] for value in context.witness.values[prop.iri] if isinstance(value, tuple)]
        for tag in context.chance.shuffled(sorted(tags)):
            variable = f"?v{context.number}"
            condition = f' FILTER(LANG({variable}) = "{tag}")'
            pattern = f"?x {context.term(prop)} {variable} .{condition}"
            words = f"that have a {prop.label} in {names[tag]}"
            yield Clause(words, pattern, prop.iri, ((condition, ""),))


def within(context: ClauseContext) -> Iterator[Clause]:
    """Require a link to a given thing, or to something transitively linked to it."""
    for prop in context.properties(links=True):
        steps = [prop for prop in context.graph.model.has(prop.range) if prop.transitive]
        if prop.transitive or not steps:
            continue
        tops = context.chance.shuffled(context.witness.links[prop.iri])[:1]
        while parents := tops[-1].links.get(steps[0].iri):
            tops.append(parents[0])
        path = f"{context.term(prop)}/{context.term(steps[0])}*/rdfs:label"
        for top in context.chance.shuffled([thing.label for thing in tops]):
            words = (
                f"that {prop.phrase} {top} or {context.plural(prop.range)} that "
                f"{steps[0].phrase} it, directly or over others"
            )
            mistakes = (("*/", "?/"), ("*/", "+/"))
            yield Clause(words, f'?x {path} "{top}" .', prop.iri, mistakes)


def either(context: ClauseContext) -> Iterator[Clause]:
    """Require a link to one of two given things: one of the witness, and one of another thing."""
    for prop in context.properties(links=True):
        own = [link.label for link in context.witness.links[prop.iri]]
        target = context.chance.one(own)
        others = dict.fromkeys(
            label
            for labels in _link_labels(context.things(), prop)
            if target not in labels
            for label in labels
            if label not in own
        )
        for other in context.chance.shuffled(list(others)):
            first, second = sorted((target, other))
            name = f"?v{context.number}"
            pattern = (
                f'VALUES {name} {{ "{first}" "{second}" }} '
                f"?x {context.term(prop)}/rdfs:label {name} ."
            )
            words = f"that {_direct(prop)} {first} or {second}"
            mistakes = ((f'"{first}" ', ""), (f' "{second}"', ""), *_over_others(prop))
            yield Clause(words, pattern, prop.iri, mistakes)


def alternative(context: ClauseContext) -> Iterator[Clause]:
    """Require a link that the witness has, or a bound that only another thing meets, or both."""
    for prop in context.properties(links=True):
        target = context.chance.one(context.witness.links[prop.iri])
        things = context.things()
        labels = _link_labels(things, prop)
        others = [x for x, own in zip(things, labels, strict=True) if target.label not in own]
        for measure in context.properties(links=False):
            own = _values([context.witness], measure)
            for limit in context.chance.shuffled(_values(others, measure)):
                first = _link(context, prop, target)
                second = _bound(context, measure, limit, least=own < [limit])
                left, right = f"{{ {first.pattern} }} UNION ", f"{{ {second.pattern} }}"
                words = (
                    "for which at least one of the following holds: they are among those "
                    f"{first.words}, or their {second.words.removeprefix('whose ')}"
                )
                mistakes = ((left, ""), (f" UNION {right}", ""), *first.mistakes)
                yield Clause(words, left + right, prop.iri, mistakes)


KINDS: Final[Mapping[str, ClauseDrawer]] = MappingProxyType(
    {
        "path": within,
        "link": linked,
        "filter": bounded,
        "join": joined,
        "negation": absent,
        "having": counted,
        "language": in_language,
        "values": either,
        "union": alternative,
    }
)
"""The functions that draw clauses, by the SPARQL feature that they need, in the order of drawing.

Each yields possible clauses, in random order. Those that concern several things come last.
"""


def _link(context: ClauseContext, prop: Property, target: Instance) -> Clause:
    pattern = f'?x {context.term(prop)}/rdfs:label "{target.label}" .'
    words = f"that {_direct(prop)} {target.label}"
    return Clause(words, pattern, prop.iri, _over_others(prop))


def _direct(prop: Property) -> str:
    """Return the phrase of a property; what things are linked over others does not count."""
    return f"directly {prop.phrase}" if prop.transitive else prop.phrase


def _over_others(prop: Property) -> tuple[tuple[str, str], ...]:
    return (("/rdfs:label", "+/rdfs:label"),) if prop.transitive else ()


def _link_labels(things: Iterable[Instance], prop: Property) -> list[list[str]]:
    """Return for each thing the labels of what a property links it to."""
    return [[link.label for link in thing.links.get(prop.iri, ())] for thing in things]


def _values(things: Iterable[Instance], prop: Property) -> list[int]:
    """Return the numbers or dates that things have as values of a property."""
    values = {value for thing in things for value in thing.values.get(prop.iri, ())}
    return sorted(value for value in values if isinstance(value, int))


def _bound(context: ClauseContext, prop: Property, limit: int, *, least: bool) -> Clause:
    variable, sign = f"?v{context.number}", ">=" if least else "<="
    pattern = f"?x {context.term(prop)} {variable} . FILTER({variable} {sign} {_term(prop, limit)})"
    words = f"whose {prop.label} is {_bounds(prop, limit, least=least)}"
    return Clause(words, pattern, prop.iri)


def at_least(prop: Property, limit: int) -> str:
    """Return a lower bound of a property in words."""
    return _bounds(prop, limit, least=True)


def _bounds(prop: Property, limit: int, *, least: bool) -> str:
    if prop.range == XSD.date:
        return f"{date.fromordinal(limit).isoformat()} or {'later' if least else 'earlier'}"
    return f"{'at least' if least else 'at most'} {limit}"


def _term(prop: Property, value: int) -> str:
    return str(value) if prop.range == XSD.integer else f'"{date.fromordinal(value)}"^^xsd:date'


def alternatives(pattern: str) -> list[str]:
    """Split a pattern with UNION, or with two VALUES."""
    if values := _VALUES.fullmatch(pattern):
        start, first, second, end = values.groups()
        return [f"{start} {value} {end}" for value in (first, second)]
    return pattern.split(" UNION ")


def wrong_conditions(parts: Sequence[Clause]) -> Iterator[Sequence[Clause]]:
    """Yield the clauses without each of them, and with each mistake in one of them."""
    for number, part in enumerate(parts):
        before, after = parts[:number], parts[number + 1 :]
        yield [*before, *after]
        for misread in part.misread():
            yield [*before, misread, *after]


AGAIN: Final = "$CONDITIONS"
"""Where a form repeats the conditions of a question."""


class Question(NamedTuple):
    """A question: its words, its query, and the features of the query.

    ``ordered`` is true if the order of rows matters.
    """

    words: str
    query: str
    features: tuple[str, ...]
    ordered: bool


class Form(NamedTuple):
    """A form of question: the words around its class and clauses, and the parts of its query.

    ``each_once`` is true if each matching thing must count once, in however many ways it matches.
    ``pattern`` may repeat the conditions as :data:`AGAIN`, with ``?y`` instead of ``?x``.
    At least ``least`` things must meet the conditions. ``mistakes`` are parts of ``pattern`` or
    ``end`` with what a query has instead that misreads this part.
    """

    before: str
    after: str
    select: str
    pattern: str = ""
    end: str = ""
    each_once: bool = False
    least: int = 1
    mistakes: tuple[tuple[str, str], ...] = ()

    def misread(self) -> list[Form]:
        """Return the form with each of the mistakes, and with its numbers misread."""
        return [
            *(
                self._replace(
                    pattern=self.pattern.replace(part, other), end=self.end.replace(part, other)
                )
                for part, other in self.mistakes
            ),
            *(self._replace(select=select) for select in misreadings.of_counts(self.select)),
        ]

    def about(self, names: Mapping[str, str]) -> Form:
        """Return the form with ``names`` in the places that are called after them (``$label``)."""

        def filled(text: str) -> str:
            return _PLACE.sub(lambda match: names[match[1]], text)

        return self._replace(
            before=filled(self.before),
            after=filled(self.after),
            select=filled(self.select),
            pattern=filled(self.pattern),
            mistakes=tuple((filled(part), filled(other)) for part, other in self.mistakes),
        )


_PLACE: Final = re.compile(r"\$([a-z]+)")
