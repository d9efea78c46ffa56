# SPDX-License-Identifier: Apache-2.0
"""Rules about the values of one property at the things of a class.

Each kind has the name of the constraint component of SHACL that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pyoxigraph as ox

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import scene_changes, trial_changes
from kgbench.worlds.generator import LANGUAGES
from kgbench.worlds.rules import (
    Rule,
    RuleContext,
    RuleDrawer,
    value_in_turtle,
    value_in_words,
    values,
    with_article,
)
from kgbench.worlds.scene_changes import ThingChange

_NAMES: Final = {"de": "German", "en": "English", "fr": "French"}
_LOW, _HIGH = ("at least", "no earlier than"), ("at most", "no later than")
_ABOVE, _BELOW = ("greater than", "later than"), ("less than", "earlier than")


def min_count(context: RuleContext) -> Rule | None:
    """Draw a minimum number of values."""
    prop = context.one()
    if prop is None:
        return None
    least = 1 if prop.max_count == 1 or context.chance.between(0, 2) else 2
    words = f'Every {context.label} has at least {values(least)} of "{prop.label}".'
    rule = context.on("MinCount", prop, words, f"sh:minCount {least}")
    return rule(
        scene_changes.fewer(context.kind, prop, least),
        scene_changes.as_many(context.kind, prop, least),
        [trial_changes.with_terms(context.kind, prop, ())],
    )


def max_count(context: RuleContext) -> Rule | None:
    """Draw a maximum number of values."""
    prop = context.one()
    if prop is None:
        return None
    most = context.chance.between(1, prop.max_count)
    words = f'Every {context.label} has at most {values(most)} of "{prop.label}".'
    rule = context.on("MaxCount", prop, words, f"sh:maxCount {most}")
    return rule(
        scene_changes.more(context.kind, prop, most),
        scene_changes.as_many(context.kind, prop, most),
        [trial_changes.with_terms(context.kind, prop, trial_changes.odd_values()[: most + 1])],
    )


def datatype(context: RuleContext) -> Rule | None:
    """Draw a rule that values have the datatype of their property."""
    prop = context.one(lambda candidate: not candidate.links and candidate.range != RDF.langString)
    if prop is None:
        return None
    name = prop.range.removeprefix(str(XSD))
    thing = with_article(context.label)
    words = f'Every value of "{prop.label}" of {thing} has the datatype xsd:{name}.'
    rule = context.on("Datatype", prop, words, f"sh:datatype xsd:{name}")
    return rule(
        scene_changes.of_another_type(context.kind, prop),
        None,
        (
            trial_changes.with_term(context.kind, prop, value)
            for value in trial_changes.odd_values(prop.range)
        ),
    )


def of_class(context: RuleContext) -> Rule | None:
    """Draw a rule that values are of the class that is the range of their property."""
    prop = context.one(lambda candidate: candidate.links)
    if prop is None:
        return None
    thing = with_article(context.label)
    value = with_article(context.graph.model.kinds[prop.range].label)
    words = f'Every value of "{prop.label}" of {thing} is {value}.'
    rule = context.on("Class", prop, words, f"sh:class {context.term(prop.range)}")
    return rule(
        scene_changes.of_another_class(context.kind, prop),
        scene_changes.other_value(context.kind, prop),
        *trial_changes.of_classes(
            context.graph.model, prop.range, trial_changes.values_of(context.kind, prop)
        ),
    )


def _bound(component: str, words: tuple[str, str], *, low: bool, strict: bool) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule | None:
        prop = context.one(lambda candidate: candidate.range in {XSD.integer, XSD.date})
        if prop is None:
            return None
        room = context.chance.between(1, (prop.high - prop.low) // 8)
        limit = prop.low + room if low else prop.high - room
        bound = f"{words[prop.range == XSD.date]} {value_in_words(prop, limit)}"
        sentence = f'Every value of "{prop.label}" of {with_article(context.label)} is {bound}.'
        group = "low" if low else "high"
        name = component[0].lower() + component[1:]
        rule = context.on(
            component, prop, sentence, f"sh:{name} {value_in_turtle(prop, limit)}", group
        )
        inside = 1 if low else -1
        wrong, right = (limit, limit + inside) if strict else (limit - inside, limit)
        return rule(
            scene_changes.with_value(context.kind, prop, wrong),
            scene_changes.with_value(context.kind, prop, right),
            [trial_changes.with_term(context.kind, prop, trial_changes.UNKNOWN)],
        )

    return draw


def unique_lang(context: RuleContext) -> Rule | None:
    """Draw a rule that allows one text per language."""
    prop = context.one(lambda candidate: candidate.range == RDF.langString)
    if prop is None:
        return None
    words = f'No {context.label} has two values of "{prop.label}" in the same language.'
    rule = context.on("UniqueLang", prop, words, "sh:uniqueLang true")
    return rule(scene_changes.same_language(context.kind, prop), None)


def language_in(context: RuleContext) -> Rule | None:
    """Draw a rule that allows texts in two languages."""
    prop = context.one(lambda candidate: candidate.range == RDF.langString)
    if prop is None:
        return None
    first, second, other = context.chance.shuffled(LANGUAGES)
    words = (
        f'Every value of "{prop.label}" of {with_article(context.label)} is in {_NAMES[first]} '
        f"or {_NAMES[second]}."
    )
    rule = context.on("LanguageIn", prop, words, f'sh:languageIn ( "{first}" "{second}" )')
    return rule(
        scene_changes.in_language(context.kind, prop, other),
        scene_changes.in_language(context.kind, prop, second),
        (
            trial_changes.with_term(context.kind, prop, value)
            for value in (*_texts(other, "it"), *trial_changes.odd_values()[:3])
        ),
        (
            trial_changes.with_term(context.kind, prop, value)
            for value in _texts(first, second, f"{first}-x-other")
        ),
    )


def node_kind(context: RuleContext) -> Rule | None:
    """Draw a rule that values are IRIs."""
    prop = context.one(lambda candidate: candidate.links)
    if prop is None:
        return None
    words = f'Every value of "{prop.label}" of {with_article(context.label)} is an IRI.'
    rule = context.on("NodeKind", prop, words, "sh:nodeKind sh:IRI")
    return rule(
        scene_changes.named_in_words(context.kind, prop),
        None,
        (
            trial_changes.with_term(context.kind, prop, value)
            for value in trial_changes.odd_values()[1:]
        ),
    )


def _texts(*tags: str) -> list[ox.Literal]:
    return [ox.Literal("text", language=tag) for tag in tags]


def _of_names(
    component: str,
    words: str,
    constraint: str,
    breaks: ThingChange,
    keeps: ThingChange | None,
    *,
    letters: str = "",
) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule:
        sentence = f"The name (rdfs:label) of every {context.label} {words}."
        kinds = (context.kind,)
        return Rule(
            component,
            sentence,
            context.target,
            "rdfs:label",
            constraint,
            component,
            kinds,
            (RDFS.label,),
            scene_changes.change_name(breaks, context.kind),
            None if keeps is None else scene_changes.change_name(keeps, context.kind),
            tuple(trial_changes.beginning_with(context.kind, letter) for letter in letters),
        )

    return draw


def _sized(context: RuleContext, *, least: bool) -> Rule | None:
    number = context.chance.between(4, 7) if least else context.chance.between(18, 26)
    words = f"has at {'least' if least else 'most'} {number} characters"
    component = "MinLength" if least else "MaxLength"
    name = component[0].lower() + component[1:]
    wrong = scene_changes.resized(number - 1 if least else number + 1)
    return _of_names(component, words, f"sh:{name} {number}", wrong, scene_changes.resized(number))(
        context
    )


def _pattern(context: RuleContext) -> Rule | None:
    words = "begins with a capital letter from A to Z"
    return _of_names(
        "Pattern",
        words,
        'sh:pattern "^[A-Z]"',
        scene_changes.uncapitalised,
        None,
        letters="aÄ4_",
    )(context)


KINDS: Final[Mapping[str, RuleDrawer]] = MappingProxyType(
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
        "MinLength": lambda context: _sized(context, least=True),
        "MaxLength": lambda context: _sized(context, least=False),
        "Pattern": _pattern,
    }
)
"""The functions that draw rules, by kind."""
