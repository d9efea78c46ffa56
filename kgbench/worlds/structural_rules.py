# SPDX-License-Identifier: Apache-2.0
"""Rules beyond the values of one property: targets, paths, closed classes, alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgbench.vocab import XSD
from kgbench.worlds import scene_changes, trial_changes
from kgbench.worlds.model import Property
from kgbench.worlds.rules import (
    Rule,
    RuleContext,
    RuleDrawer,
    value_in_turtle,
    value_in_words,
    with_article,
)


def closed(context: RuleContext) -> Rule | None:
    """Draw a closed class: only its own properties are allowed."""
    if context.graph.model.below(context.kind) != [context.kind]:
        return None
    own = context.graph.model.has(context.kind)
    listed = ", ".join(f'"{prop.label}"' for prop in own)
    about = with_article(context.label)
    words = f"Nothing is said of {about} but its class, its name (rdfs:label), {listed}."
    terms = " ".join(context.term(prop.iri) for prop in own)
    constraint = f"sh:closed true ; sh:ignoredProperties ( rdf:type rdfs:label {terms} )"
    kinds = (context.kind,)
    foreign = [prop for prop in context.graph.model.properties if prop not in own]
    return Rule(
        "Closed",
        words,
        context.target,
        "",
        constraint,
        "Closed",
        kinds,
        (),
        scene_changes.foreign_property(context.kind),
        None,
        tuple(
            trial_changes.with_terms(context.kind, prop, trial_changes.odd_values()[:1])
            for prop in foreign
        ),
        tuple(trial_changes.having(context.kind, (prop,), ()) for prop in own),
    )


def _subjects_or_objects(context: RuleContext, *, subjects: bool) -> Rule | None:
    prop = context.one(lambda prop: prop.links)
    if prop is None:
        return None
    kind = prop.domain if subjects else prop.range
    label = with_article(context.graph.model.kinds[kind].label)
    has = "has a value" if subjects else "is a value"
    words = f'Everything that {has} of "{prop.label}" is {label}.'
    target = f"sh:target{'Subjects' if subjects else 'Objects'}Of {context.term(prop.iri)}"
    breaks = (
        scene_changes.strange_subject(prop)
        if subjects
        else scene_changes.of_another_class(context.kind, prop)
    )
    more, keeps = trial_changes.of_classes(
        context.graph.model, kind, trial_changes.ends_of(prop, subjects=subjects)
    )
    return Rule(
        "Class",
        words,
        target,
        "",
        f"sh:class {context.term(kind)}",
        target,
        (context.kind,),
        (prop.iri,),
        breaks,
        None,
        (*more, trial_changes.strangers(prop)),
        keeps,
    )


def inverse(context: RuleContext) -> Rule | None:
    """Draw a limit on the number of things that share a value."""
    prop = context.one(lambda prop: prop.links and prop.max_count == 1)
    if prop is None:
        return None
    most = context.chance.between(1, 2)
    range_ = context.graph.model.kinds[prop.range].label
    words = f'No {range_} is the "{prop.label}" of more than {most} thing{"s" * (most > 1)}.'
    target = f"sh:targetClass {context.term(prop.range)}"
    path = f"[ sh:inversePath {context.term(prop.iri)} ]"
    breaks = scene_changes.shared(context.kind, prop, most + 1)
    keeps = scene_changes.shared(context.kind, prop, most)
    return Rule(
        "MaxCount",
        words,
        target,
        path,
        f"sh:maxCount {most}",
        "MaxCount",
        (context.kind,),
        (prop.iri,),
        breaks,
        keeps,
        (trial_changes.strangers(prop, most + 1),),
        (trial_changes.strangers(prop, most),),
    )


def _logical(component: str) -> RuleDrawer:
    def draw(context: RuleContext) -> Rule | None:
        optional = [prop for prop in context.graph.model.has(context.kind) if not prop.min_count]
        if len(optional) < 2:  # noqa: PLR2004 - alternatives
            return None
        first, second = context.chance.some(optional, 2)
        either = f'a value of "{first.label}" or of "{second.label}", '
        words = f"Every {context.label} has {either}" + (
            "or of both." if component == "Or" else "and not of both."
        )
        none, both = (
            trial_changes.having(context.kind, (), (first, second)),
            trial_changes.having(context.kind, (first, second), ()),
        )
        alone = (
            trial_changes.having(context.kind, (first,), (second,)),
            trial_changes.having(context.kind, (second,), (first,)),
        )
        parts = " ".join(
            f"[ sh:property [ sh:path {context.term(prop.iri)} ; sh:minCount 1 ] ]"
            for prop in (first, second)
        )
        breaks = scene_changes.none_of(context.kind, first, second)
        if component == "Xone" and context.chance.between(0, 1):
            breaks = scene_changes.both_of(context.kind, first, second)
        return Rule(
            component,
            words,
            context.target,
            "",
            f"sh:{component.lower()} ( {parts} )",
            f"{component} {parts}",
            (context.kind,),
            (first.iri, second.iri),
            breaks,
            scene_changes.only(context.kind, first, second),
            (none, both) if component == "Xone" else (none,),
            alone if component == "Xone" else (*alone, both),
        )

    return draw


def negated(context: RuleContext) -> Rule | None:
    """Draw a property that may have no value."""
    prop = context.one(lambda prop: not prop.min_count)
    if prop is None:
        return None
    words = f'No {context.label} has a value of "{prop.label}".'
    path = context.term(prop.iri)
    constraint = f"sh:not [ sh:property [ sh:path {path} ; sh:minCount 1 ] ]"
    breaks = scene_changes.more(context.kind, prop, 0)
    kinds = (context.kind, *((prop.range,) if prop.links else ()))
    return Rule(
        "Not",
        words,
        context.target,
        "",
        constraint,
        f"Not {path}",
        kinds,
        (prop.iri,),
        breaks,
        None,
        tuple(
            trial_changes.with_term(context.kind, prop, value)
            for value in trial_changes.odd_values()[:3]
        ),
    )


def _qualified(context: RuleContext, *, least: bool) -> Rule | None:
    model = context.graph.model
    prop = context.one(
        lambda prop: prop.links and prop.max_count > 1 and len(model.below(prop.range)) > 1
    )
    if prop is None:
        return None
    kind = context.chance.one(model.below(prop.range))
    label = model.kinds[kind].label
    which = f"sh:qualified{'Min' if least else 'Max'}Count 1"
    path, constraint = (
        context.term(prop.iri),
        f"sh:qualifiedValueShape [ sh:class {context.term(kind)} ] ; {which}",
    )
    words = (
        f'At {"least" if least else "most"} one value of "{prop.label}" of every {context.label} '
        f"is {with_article(label)}."
    )
    breaks = (
        scene_changes.none_in(context.kind, prop, kind)
        if least
        else scene_changes.two_in(context.kind, prop, kind)
    )
    component = "QualifiedMinCount" if least else "QualifiedMaxCount"
    one = trial_changes.one_in(context.kind, prop, kind)
    none = trial_changes.with_terms(context.kind, prop, trial_changes.odd_values()[:3])
    first = one if least else scene_changes.two_in(context.kind, prop, kind)
    others, same = trial_changes.of_classes(model, kind, first=first)
    return Rule(
        component,
        words,
        context.target,
        path,
        constraint,
        component,
        (context.kind, prop.range),
        (prop.iri,),
        breaks,
        None,
        (*others, none) if least else same,
        (one, *same) if least else (one, none, *others),
    )


def _two_steps(component: str) -> RuleDrawer:
    """Make a rule that bounds values two steps away, by a path or by a shape of the values."""

    def draw(context: RuleContext) -> Rule | None:
        model = context.graph.model

        def further(prop: Property) -> list[Property]:
            return [last for last in model.has(prop.range) if last.range in {XSD.integer, XSD.date}]

        prop = context.one(lambda prop: prop.links and not prop.transitive and bool(further(prop)))
        if prop is None:
            return None
        last = context.chance.one(further(prop))
        limit = last.low + context.chance.between(1, (last.high - last.low) // 8)
        least = "no earlier than" if last.range == XSD.date else "at least"
        holder = with_article(f'"{prop.label}"')
        words = (
            f'Every value of "{last.label}" of {holder} of {with_article(context.label)} '
            f"is {least} {value_in_words(last, limit)}."
        )
        bound = f"sh:minInclusive {value_in_turtle(last, limit)}"
        first, second = context.term(prop.iri), context.term(last.iri)
        path, constraint = f"( {first} {second} )", bound
        if component == "Node":
            path, constraint = first, f"sh:node [ sh:property [ sh:path {second} ; {bound} ] ]"
        iris = (prop.iri, last.iri)
        return Rule(
            component,
            words,
            context.target,
            path,
            constraint,
            f"{component} {second}",
            (context.kind,),
            iris,
            scene_changes.valued_beyond(context.kind, prop, last, limit - 1),
            scene_changes.valued_beyond(context.kind, prop, last, limit),
        )

    return draw


KINDS: Final[Mapping[str, RuleDrawer]] = MappingProxyType(
    {
        "Closed": closed,
        "subjects": lambda at: _subjects_or_objects(at, subjects=True),
        "objects": lambda at: _subjects_or_objects(at, subjects=False),
        "inverse": inverse,
        "Or": _logical("Or"),
        "Xone": _logical("Xone"),
        "Not": negated,
        "QualifiedMinCount": lambda at: _qualified(at, least=True),
        "QualifiedMaxCount": lambda at: _qualified(at, least=False),
        "sequence": _two_steps("MinInclusive"),
        "Node": _two_steps("Node"),
    }
)
"""The functions that draw rules, by kind."""
