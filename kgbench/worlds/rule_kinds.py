# SPDX-License-Identifier: Apache-2.0
"""The kinds of rules: about the values of one property, targets, paths, classes, alternatives.

The functions raise :class:`~kgbench.worlds.rules.NoRule` for a class without suitable properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import scene_changes, trial_changes
from kgbench.worlds.generator import LANGUAGES
from kgbench.worlds.model import Property
from kgbench.worlds.rules import (
    NoRule,
    Rule,
    RuleContext,
    RuleDrawer,
    parameter,
    value_in_turtle,
    value_in_words,
    values,
    with_article,
    with_value,
)
from kgbench.worlds.scene_changes import ThingChange
from kgbench.worlds.trial_changes import odd_values, texts_in, with_each

_NAMES: Final = {"de": "German", "en": "English", "fr": "French"}
_LOW, _HIGH = ("at least", "no earlier than"), ("at most", "no later than")
_ABOVE, _BELOW = ("greater than", "later than"), ("less than", "earlier than")


def _min_count(context: RuleContext) -> Rule:
    prop, kind = context.one(), context.kind
    least = 1 if prop.max_count == 1 or context.chance.between(0, 2) else 2
    return context.rule(
        "MinCount",
        f'Every {context.label} has at least {values(least)} of "{prop.label}".',
        f"sh:minCount {least}",
        scene_changes.resized_to(kind, prop, least - 1),
        keeps=scene_changes.resized_to(kind, prop, least),
        also_breaks=[trial_changes.with_terms(kind, prop, ())],
        of=[prop],
    )


def _max_count(context: RuleContext) -> Rule:
    prop, kind = context.one(), context.kind
    most = context.chance.between(1, prop.max_count)
    return context.rule(
        "MaxCount",
        f'Every {context.label} has at most {values(most)} of "{prop.label}".',
        f"sh:maxCount {most}",
        scene_changes.resized_to(kind, prop, most + 1),
        keeps=scene_changes.resized_to(kind, prop, most),
        also_breaks=[trial_changes.with_terms(kind, prop, odd_values()[: most + 1])],
        of=[prop],
    )


def _datatype(context: RuleContext) -> Rule:
    prop = context.one(lambda candidate: not candidate.links and candidate.range != RDF.langString)
    name = f"xsd:{prop.range.removeprefix(str(XSD))}"
    return context.rule(
        "Datatype",
        context.every(prop, f"has the datatype {name}"),
        f"sh:datatype {name}",
        scene_changes.of_another_type(context.kind, prop),
        also_breaks=with_each(context.kind, prop, odd_values(prop.range)),
        of=[prop],
    )


def _of_class(context: RuleContext) -> Rule:
    prop, model = context.one(lambda candidate: candidate.links), context.graph.model
    others, same = trial_changes.of_classes(
        model, prop.range, trial_changes.values_of(context.kind, prop)
    )
    return context.rule(
        "Class",
        context.every(prop, f"is {with_article(model.kinds[prop.range].label)}"),
        f"sh:class {context.term(prop.range)}",
        scene_changes.of_another_class(context.kind, prop),
        keeps=scene_changes.other_value(context.kind, prop),
        also_breaks=others,
        also_keeps=same,
        of=[prop],
    )


def _bound(component: str, words: tuple[str, str], *, low: bool, strict: bool) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule:
        prop = context.one(lambda candidate: candidate.range in {XSD.integer, XSD.date})
        room = context.chance.between(1, (prop.high - prop.low) // 8)
        limit = prop.low + room if low else prop.high - room
        inside = 1 if low else -1
        wrong, right = (limit, limit + inside) if strict else (limit - inside, limit)
        bound = f"is {words[prop.range == XSD.date]} {value_in_words(prop, limit)}"
        return context.rule(
            component,
            context.every(prop, bound),
            f"{parameter(component)} {value_in_turtle(prop, limit)}",
            scene_changes.with_value(context.kind, prop, wrong),
            keeps=scene_changes.with_value(context.kind, prop, right),
            also_breaks=with_each(context.kind, prop, [trial_changes.UNKNOWN]),
            of=[prop],
            group="low" if low else "high",
        )

    return draw


def _unique_lang(context: RuleContext) -> Rule:
    prop = context.one(lambda candidate: candidate.range == RDF.langString)
    return context.rule(
        "UniqueLang",
        f'No {context.label} has two values of "{prop.label}" in the same language.',
        "sh:uniqueLang true",
        scene_changes.same_language(context.kind, prop),
        of=[prop],
    )


def _language_in(context: RuleContext) -> Rule:
    prop, kind = context.one(lambda candidate: candidate.range == RDF.langString), context.kind
    first, second, other = context.chance.shuffled(LANGUAGES)
    return context.rule(
        "LanguageIn",
        context.every(prop, f"is in {_NAMES[first]} or {_NAMES[second]}"),
        f'sh:languageIn ( "{first}" "{second}" )',
        scene_changes.in_language(kind, prop, other),
        keeps=scene_changes.in_language(kind, prop, second),
        also_breaks=with_each(kind, prop, [*texts_in(other, "it"), *odd_values()[:3]]),
        also_keeps=with_each(kind, prop, texts_in(first, second, f"{first}-x-other")),
        of=[prop],
    )


def _node_kind(context: RuleContext) -> Rule:
    prop = context.one(lambda candidate: candidate.links)
    return context.rule(
        "NodeKind",
        context.every(prop, "is an IRI"),
        "sh:nodeKind sh:IRI",
        scene_changes.named_in_words(context.kind, prop),
        also_breaks=with_each(context.kind, prop, odd_values()[1:]),
        of=[prop],
    )


def _of_names(
    context: RuleContext,
    component: str,
    words: str,
    constraint: str,
    *changes: ThingChange,
    letters: str = "",
) -> Rule:
    """Return a rule about names; ``changes`` break it and, if there is a second one, keep to it."""
    breaks, *keeps = (scene_changes.somewhere(context.kind, change) for change in changes)
    return context.rule(
        component,
        f"The name (rdfs:label) of every {context.label} {words}.",
        constraint,
        breaks,
        keeps=next(iter(keeps), None),
        also_breaks=[trial_changes.beginning_with(context.kind, letter) for letter in letters],
        path="rdfs:label",
        properties=(RDFS.label,),
    )


def _sized(component: str, words: str, bounds: tuple[int, int], beyond: int) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule:
        number = context.chance.between(*bounds)
        words_of_number = f"has {words} {number} characters"
        constraint = f"{parameter(component)} {number}"
        wrong, right = (scene_changes.resized(number + more) for more in (beyond, 0))
        return _of_names(context, component, words_of_number, constraint, wrong, right)

    return draw


def _pattern(context: RuleContext) -> Rule:
    words = "begins with a capital letter from A to Z"
    breaks = scene_changes.uncapitalised
    return _of_names(context, "Pattern", words, 'sh:pattern "^[A-Z]"', breaks, letters="aÄ4_")


# Beyond the values of one property


def _closed(context: RuleContext) -> Rule:
    kind, model = context.kind, context.graph.model
    if model.below(kind) != [kind]:
        raise NoRule
    own = model.has(kind)
    listed = ", ".join(f'"{prop.label}"' for prop in own)
    terms = " ".join(context.term(prop.iri) for prop in own)
    foreign = [prop for prop in model.properties if prop not in own]
    return context.rule(
        "Closed",
        f"Nothing is said of {with_article(context.label)} but its class, its name (rdfs:label), "
        f"{listed}.",
        f"sh:closed true ; sh:ignoredProperties ( rdf:type rdfs:label {terms} )",
        scene_changes.foreign_property(kind),
        also_breaks=[trial_changes.with_terms(kind, one, odd_values()[:1]) for one in foreign],
        also_keeps=[trial_changes.having(kind, (prop,), ()) for prop in own],
    )


def _ends(*, subjects: bool) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule:
        prop, model = context.one(lambda candidate: candidate.links), context.graph.model
        kind = prop.domain if subjects else prop.range
        has = "has a value" if subjects else "is a value"
        target = f"sh:target{'Subjects' if subjects else 'Objects'}Of {context.term(prop.iri)}"
        others, same = trial_changes.of_classes(
            model, kind, trial_changes.ends_of(prop, subjects=subjects)
        )
        return context.rule(
            "Class",
            f'Everything that {has} of "{prop.label}" is {with_article(model.kinds[kind].label)}.',
            f"sh:class {context.term(kind)}",
            scene_changes.strange_subject(prop)
            if subjects
            else scene_changes.of_another_class(context.kind, prop),
            also_breaks=(*others, trial_changes.strangers(prop)),
            also_keeps=same,
            of=[prop],
            target=target,
            path="",
            group=target,
        )

    return draw


def _inverse(context: RuleContext) -> Rule:
    prop = context.one(lambda candidate: candidate.links and candidate.max_count == 1)
    most = context.chance.between(1, 2)
    range_ = context.graph.model.kinds[prop.range].label
    return context.rule(
        "MaxCount",
        f'No {range_} is the "{prop.label}" of more than {most} thing{"s" * (most > 1)}.',
        f"sh:maxCount {most}",
        scene_changes.shared(context.kind, prop, most + 1),
        keeps=scene_changes.shared(context.kind, prop, most),
        also_breaks=[trial_changes.strangers(prop, most + 1)],
        also_keeps=[trial_changes.strangers(prop, most)],
        of=[prop],
        target=f"sh:targetClass {context.term(prop.range)}",
        path=f"[ sh:inversePath {context.term(prop.iri)} ]",
    )


def _logical(component: str) -> RuleDrawer:
    exclusive = component == "Xone"

    def draw(context: RuleContext) -> Rule:
        kind = context.kind
        optional = [prop for prop in context.graph.model.has(kind) if not prop.min_count]
        if len(optional) < 2:  # noqa: PLR2004 - alternatives
            raise NoRule
        first, second = context.chance.some(optional, 2)
        parts = " ".join(with_value(context.term(prop.iri)) for prop in (first, second))
        breaks = scene_changes.none_of(kind, first, second)
        if exclusive and context.chance.between(0, 1):
            breaks = scene_changes.both_of(kind, first, second)
        having = trial_changes.having
        none, both = having(kind, (), (first, second)), having(kind, (first, second), ())
        alone = (having(kind, (first,), (second,)), having(kind, (second,), (first,)))
        return context.rule(
            component,
            f'Every {context.label} has a value of "{first.label}" or of "{second.label}", '
            + ("and not of both." if exclusive else "or of both."),
            f"sh:{component.lower()} ( {parts} )",
            breaks,
            keeps=scene_changes.only(kind, first, second),
            also_breaks=(none, both) if exclusive else (none,),
            also_keeps=alone if exclusive else (*alone, both),
            of=[first, second],
            path="",
            group=f"{component} {parts}",
        )

    return draw


def _negated(context: RuleContext) -> Rule:
    prop, kind = context.one(lambda candidate: not candidate.min_count), context.kind
    path = context.term(prop.iri)
    return context.rule(
        "Not",
        f'No {context.label} has a value of "{prop.label}".',
        f"sh:not {with_value(path)}",
        scene_changes.resized_to(kind, prop, 1),
        also_breaks=with_each(kind, prop, odd_values()[:3]),
        of=[prop],
        path="",
        group=f"Not {path}",
        kinds=(kind, *((prop.range,) if prop.links else ())),
    )


def _qualified(*, least: bool) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule:
        model = context.graph.model
        prop = context.one(
            lambda prop: prop.links and prop.max_count > 1 and len(model.below(prop.range)) > 1
        )
        kind = context.chance.one(model.below(prop.range))
        two = scene_changes.two_in(context.kind, prop, kind)
        one = trial_changes.one_in(context.kind, prop, kind)
        none = trial_changes.with_terms(context.kind, prop, odd_values()[:3])
        others, same = trial_changes.of_classes(model, kind, first=one if least else two)
        component = f"Qualified{'Min' if least else 'Max'}Count"
        return context.rule(
            component,
            f'At {"least" if least else "most"} one value of "{prop.label}" of every '
            f"{context.label} is {with_article(model.kinds[kind].label)}.",
            f"sh:qualifiedValueShape [ sh:class {context.term(kind)} ] ; {parameter(component)} 1",
            scene_changes.none_in(context.kind, prop, kind) if least else two,
            also_breaks=(*others, none) if least else same,
            also_keeps=(one, *same) if least else (one, none, *others),
            of=[prop],
            kinds=(context.kind, prop.range),
        )

    return draw


def _two_steps(component: str) -> RuleDrawer:
    """Make a rule that bounds values two steps away, by a path or by a shape of the values."""

    def draw(context: RuleContext) -> Rule:
        model = context.graph.model

        def further(prop: Property) -> list[Property]:
            return [last for last in model.has(prop.range) if last.range in {XSD.integer, XSD.date}]

        prop = context.one(lambda prop: prop.links and not prop.transitive and bool(further(prop)))
        last = context.chance.one(further(prop))
        limit = last.low + context.chance.between(1, (last.high - last.low) // 8)
        least = _LOW[last.range == XSD.date]
        holder = with_article(f'"{prop.label}"')
        bound = f"sh:minInclusive {value_in_turtle(last, limit)}"
        first, second = context.term(prop.iri), context.term(last.iri)
        path, constraint = f"( {first} {second} )", bound
        if component == "Node":
            path, constraint = first, f"sh:node [ sh:property [ sh:path {second} ; {bound} ] ]"
        return context.rule(
            component,
            f'Every value of "{last.label}" of {holder} of {with_article(context.label)} '
            f"is {least} {value_in_words(last, limit)}.",
            constraint,
            scene_changes.valued_beyond(context.kind, prop, last, limit - 1),
            keeps=scene_changes.valued_beyond(context.kind, prop, last, limit),
            of=[prop, last],
            path=path,
            group=f"{component} {second}",
        )

    return draw


KINDS: Final[Mapping[str, RuleDrawer]] = MappingProxyType(
    {
        "MinCount": _min_count,
        "MaxCount": _max_count,
        "Datatype": _datatype,
        "Class": _of_class,
        "MinInclusive": _bound("MinInclusive", _LOW, low=True, strict=False),
        "MaxInclusive": _bound("MaxInclusive", _HIGH, low=False, strict=False),
        "MinExclusive": _bound("MinExclusive", _ABOVE, low=True, strict=True),
        "MaxExclusive": _bound("MaxExclusive", _BELOW, low=False, strict=True),
        "UniqueLang": _unique_lang,
        "LanguageIn": _language_in,
        "NodeKind": _node_kind,
        "MinLength": _sized("MinLength", "at least", (4, 7), -1),
        "MaxLength": _sized("MaxLength", "at most", (18, 26), 1),
        "Pattern": _pattern,
        "Closed": _closed,
        "subjects": _ends(subjects=True),
        "objects": _ends(subjects=False),
        "inverse": _inverse,
        "Or": _logical("Or"),
        "Xone": _logical("Xone"),
        "Not": _negated,
        "QualifiedMinCount": _qualified(least=True),
        "QualifiedMaxCount": _qualified(least=False),
        "sequence": _two_steps("MinInclusive"),
        "Node": _two_steps("Node"),
    }
)
"""The functions that draw rules, by kind; most kinds are called after a component of SHACL."""
