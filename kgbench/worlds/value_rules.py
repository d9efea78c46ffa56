# SPDX-License-Identifier: Apache-2.0
"""Rules about the values that a property has at the things of a class.

Each kind is called like the constraint component that it needs, as the recommendation has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import breaches
from kgbench.worlds.breaches import Of
from kgbench.worlds.generator import LANGUAGES
from kgbench.worlds.rules import Draw, Kind, Rule, in_turtle, values, with_article, written

_NAMES: Final = {"de": "German", "en": "English", "fr": "French"}
_LOW, _HIGH = ("at least", "no earlier than"), ("at most", "no later than")
_ABOVE, _BELOW = ("greater than", "later than"), ("less than", "earlier than")


def min_count(at: Draw) -> Rule | None:
    """At least so many values."""
    each = at.one()
    if each is None:
        return None
    least = 1 if each.most == 1 or at.chance.between(0, 2) else 2
    words = f'Every {at.label} has at least {values(least)} of "{each.label}".'
    made = at.on("MinCount", each, words, f"sh:minCount {least}")
    return made(breaches.fewer(at.kind, each, least), breaches.as_many(at.kind, each, least))


def max_count(at: Draw) -> Rule | None:
    """At most so many values."""
    each = at.one()
    if each is None:
        return None
    most = at.chance.between(1, each.most)
    words = f'Every {at.label} has at most {values(most)} of "{each.label}".'
    made = at.on("MaxCount", each, words, f"sh:maxCount {most}")
    return made(breaches.more(at.kind, each, most), breaches.as_many(at.kind, each, most))


def datatype(at: Draw) -> Rule | None:
    """Values of a datatype."""
    each = at.one(lambda one: not one.links and one.range != RDF.langString)
    if each is None:
        return None
    name = each.range.removeprefix(str(XSD))
    words = f'Every value of "{each.label}" of a {at.label} has the datatype xsd:{name}.'
    made = at.on("Datatype", each, words, f"sh:datatype xsd:{name}")
    return made(breaches.of_another_type(at.kind, each), None)


def of_class(at: Draw) -> Rule | None:
    """Values of a class."""
    each = at.one(lambda one: one.links)
    if each is None:
        return None
    range_ = at.graph.model.kinds[each.range].label
    words = f'Every value of "{each.label}" of a {at.label} is {with_article(range_)}.'
    made = at.on("Class", each, words, f"sh:class {at.term(each.range)}")
    return made(breaches.of_another_class(at.kind, each), breaches.other_value(at.kind, each))


def _bound(component: str, words: tuple[str, str], *, low: bool, strict: bool) -> Kind:
    def drawn(at: Draw) -> Rule | None:
        each = at.one(lambda one: one.range in {XSD.integer, XSD.date})
        if each is None:
            return None
        room = at.chance.between(1, (each.high - each.low) // 8)
        limit = each.low + room if low else each.high - room
        said = f"{words[each.range == XSD.date]} {written(each, limit)}"
        sentence = f'Every value of "{each.label}" of a {at.label} is {said}.'
        group = "low" if low else "high"
        name = component[0].lower() + component[1:]
        made = at.on(component, each, sentence, f"sh:{name} {in_turtle(each, limit)}", group)
        inside = 1 if low else -1
        wrong, right = (limit, limit + inside) if strict else (limit - inside, limit)
        return made(breaches.valued(at.kind, each, wrong), breaches.valued(at.kind, each, right))

    return drawn


def unique_lang(at: Draw) -> Rule | None:
    """At most one text for each language."""
    each = at.one(lambda one: one.range == RDF.langString)
    if each is None:
        return None
    words = f'No {at.label} has two values of "{each.label}" in the same language.'
    made = at.on("UniqueLang", each, words, "sh:uniqueLang true")
    return made(breaches.same_language(at.kind, each), None)


def language_in(at: Draw) -> Rule | None:
    """Texts in certain languages."""
    each = at.one(lambda one: one.range == RDF.langString)
    if each is None:
        return None
    first, second, other = at.chance.shuffled(LANGUAGES)
    words = (
        f'Every value of "{each.label}" of a {at.label} is in {_NAMES[first]} or {_NAMES[second]}.'
    )
    made = at.on("LanguageIn", each, words, f'sh:languageIn ( "{first}" "{second}" )')
    return made(
        breaches.in_language(at.kind, each, other), breaches.in_language(at.kind, each, second)
    )


def node_kind(at: Draw) -> Rule | None:
    """Values that are IRIs."""
    each = at.one(lambda one: one.links)
    if each is None:
        return None
    words = f'Every value of "{each.label}" of a {at.label} is an IRI.'
    made = at.on("NodeKind", each, words, "sh:nodeKind sh:IRI")
    return made(breaches.named_in_words(at.kind, each), None)


def _of_names(component: str, words: str, constraint: str, breaks: Of, keeps: Of) -> Kind:
    def drawn(at: Draw) -> Rule:
        said = f"The name (rdfs:label) of every {at.label} {words}."
        kinds = (at.kind,)
        return Rule(
            *(component, said, at.target, "rdfs:label", constraint, component),
            *(
                kinds,
                (RDFS.label,),
                breaches.for_kind(breaks, at.kind),
                breaches.for_kind(keeps, at.kind),
            ),
        )

    return drawn


def _sized(at: Draw, *, least: bool) -> Rule | None:
    number = at.chance.between(4, 7) if least else at.chance.between(18, 26)
    words = f"has at {'least' if least else 'most'} {number} characters"
    component = "MinLength" if least else "MaxLength"
    name = component[0].lower() + component[1:]
    wrong = breaches.resized(number - 1 if least else number + 1)
    return _of_names(component, words, f"sh:{name} {number}", wrong, breaches.resized(number))(at)


def _pattern(at: Draw) -> Rule | None:
    words = "begins with a capital letter from A to Z"
    return _of_names(
        "Pattern", words, 'sh:pattern "^[A-Z]"', breaches.uncapitalised, breaches.nothing
    )(at)


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "MinCount": min_count,
        "MaxCount": max_count,
        "Datatype": datatype,
        "Class": of_class,
        "MinInclusive": _bound("MinInclusive", _LOW, low=True, strict=False),
        "MaxInclusive": _bound("MaxInclusive", _HIGH, low=False, strict=False),
        "MinExclusive": _bound("MinExclusive", _ABOVE, low=True, strict=True),
        "MaxExclusive": _bound("MaxExclusive", _BELOW, low=False, strict=True),
        "UniqueLang": unique_lang,
        "LanguageIn": language_in,
        "NodeKind": node_kind,
        "MinLength": lambda at: _sized(at, least=True),
        "MaxLength": lambda at: _sized(at, least=False),
        "Pattern": _pattern,
    }
)
"""The kinds, by name."""
