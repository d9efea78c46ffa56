# SPDX-License-Identifier: Apache-2.0
"""Rules beyond the values of one property: targets, paths, closed classes, alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgbench.vocab import XSD
from kgbench.worlds import breaches
from kgbench.worlds.model import Property
from kgbench.worlds.rules import Draw, Kind, Rule, in_turtle, with_article, written


def closed(at: Draw) -> Rule | None:
    """No properties but certain ones."""
    if at.graph.model.below(at.kind) != [at.kind]:
        return None
    own = at.graph.model.has(at.kind)
    listed = ", ".join(f'"{one.label}"' for one in own)
    about = with_article(at.label)
    words = f"Nothing is said of {about} but its class, its name (rdfs:label), {listed}."
    terms = " ".join(at.term(one.iri) for one in own)
    constraint = f"sh:closed true ; sh:ignoredProperties ( rdf:type rdfs:label {terms} )"
    kinds = (at.kind,)
    breaks = breaches.foreign_property(at.kind)
    return Rule("Closed", words, at.target, "", constraint, "Closed", kinds, (), breaks)


def _ends(at: Draw, *, subjects: bool) -> Rule | None:
    each = at.one(lambda one: one.links)
    if each is None:
        return None
    kind = each.domain if subjects else each.range
    label = with_article(at.graph.model.kinds[kind].label)
    has = "has a value" if subjects else "is a value"
    words = f'Everything that {has} of "{each.label}" is {label}.'
    target = f"sh:target{'Subjects' if subjects else 'Objects'}Of {at.term(each.iri)}"
    breaks = (
        breaches.strange_subject(each) if subjects else breaches.of_another_class(at.kind, each)
    )
    constraint = f"sh:class {at.term(kind)}"
    return Rule("Class", words, target, "", constraint, target, (at.kind,), (each.iri,), breaks)


def inverse(at: Draw) -> Rule | None:
    """Not the value of too many things."""
    each = at.one(lambda one: one.links and one.most == 1)
    if each is None:
        return None
    most = at.chance.between(1, 2)
    range_ = at.graph.model.kinds[each.range].label
    words = f'No {range_} is the "{each.label}" of more than {most} thing{"s" * (most > 1)}.'
    target = f"sh:targetClass {at.term(each.range)}"
    path = f"[ sh:inversePath {at.term(each.iri)} ]"
    breaks = breaches.shared(at.kind, each, most + 1)
    keeps = breaches.shared(at.kind, each, most)
    return Rule(
        *("MaxCount", words, target, path, f"sh:maxCount {most}", "MaxCount"),
        *((at.kind,), (each.iri,), breaks, keeps),
    )


def _logical(component: str) -> Kind:
    def drawn(at: Draw) -> Rule | None:
        among = [one for one in at.graph.model.has(at.kind) if not one.least]
        if len(among) < 2:  # noqa: PLR2004 - alternatives
            return None
        first, second = at.chance.some(among, 2)
        either = f'a value of "{first.label}" or of "{second.label}", '
        words = f"Every {at.label} has {either}" + (
            "or of both." if component == "Or" else "and not of both."
        )
        parts = " ".join(
            f"[ sh:property [ sh:path {at.term(one.iri)} ; sh:minCount 1 ] ]"
            for one in (first, second)
        )
        breaks = breaches.none_of(at.kind, first, second)
        if component == "Xone" and at.chance.between(0, 1):
            breaks = breaches.both_of(at.kind, first, second)
        return Rule(
            *(component, words, at.target, "", f"sh:{component.lower()} ( {parts} )"),
            *(f"{component} {parts}", (at.kind,), (first.iri, second.iri), breaks),
            breaches.only(at.kind, first, second),
        )

    return drawn


def negated(at: Draw) -> Rule | None:
    """No value at all."""
    each = at.one(lambda one: not one.least)
    if each is None:
        return None
    words = f'No {at.label} has a value of "{each.label}".'
    path = at.term(each.iri)
    constraint = f"sh:not [ sh:property [ sh:path {path} ; sh:minCount 1 ] ]"
    breaks = breaches.more(at.kind, each, 0)
    kinds = (at.kind, *((each.range,) if each.links else ()))
    return Rule("Not", words, at.target, "", constraint, f"Not {path}", kinds, (each.iri,), breaks)


def _qualified(at: Draw, *, least: bool) -> Rule | None:
    model = at.graph.model
    each = at.one(lambda one: one.links and one.most > 1 and len(model.below(one.range)) > 1)
    if each is None:
        return None
    kind = at.chance.one(model.below(each.range))
    label = model.kinds[kind].label
    which = f"sh:qualified{'Min' if least else 'Max'}Count 1"
    path, constraint = (
        at.term(each.iri),
        f"sh:qualifiedValueShape [ sh:class {at.term(kind)} ] ; {which}",
    )
    words = (
        f'At {"least" if least else "most"} one value of "{each.label}" of every {at.label} is '
        f"{with_article(label)}."
    )
    breaks = (
        breaches.none_in(at.kind, each, kind) if least else breaches.two_in(at.kind, each, kind)
    )
    component = "QualifiedMinCount" if least else "QualifiedMaxCount"
    return Rule(
        *(component, words, at.target, path, constraint, component),
        *((at.kind, each.range), (each.iri,), breaks),
    )


def _beyond(component: str) -> Kind:
    """A bound of what values lead to: by a path of two steps, or by a shape of the values."""

    def drawn(at: Draw) -> Rule | None:
        model = at.graph.model

        def further(one: Property) -> list[Property]:
            return [two for two in model.has(one.range) if two.range in {XSD.integer, XSD.date}]

        each = at.one(lambda one: one.links and not one.transitive and bool(further(one)))
        if each is None:
            return None
        last = at.chance.one(further(each))
        limit = last.low + at.chance.between(1, (last.high - last.low) // 8)
        least = "no earlier than" if last.range == XSD.date else "at least"
        words = (
            f'Every value of "{last.label}" of a "{each.label}" of {with_article(at.label)} is '
            f"{least} {written(last, limit)}."
        )
        bound = f"sh:minInclusive {in_turtle(last, limit)}"
        first, second = at.term(each.iri), at.term(last.iri)
        path, constraint = f"( {first} {second} )", bound
        if component == "Node":
            path, constraint = first, f"sh:node [ sh:property [ sh:path {second} ; {bound} ] ]"
        of = (each.iri, last.iri)
        return Rule(
            *(component, words, at.target, path, constraint, f"{component} {second}"),
            *((at.kind,), of, breaches.valued_beyond(at.kind, each, last, limit - 1)),
            breaches.valued_beyond(at.kind, each, last, limit),
        )

    return drawn


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "Closed": closed,
        "subjects": lambda at: _ends(at, subjects=True),
        "objects": lambda at: _ends(at, subjects=False),
        "inverse": inverse,
        "Or": _logical("Or"),
        "Xone": _logical("Xone"),
        "Not": negated,
        "QualifiedMinCount": lambda at: _qualified(at, least=True),
        "QualifiedMaxCount": lambda at: _qualified(at, least=False),
        "sequence": _beyond("MinInclusive"),
        "Node": _beyond("Node"),
    }
)
"""The kinds, by name."""
