# SPDX-License-Identifier: Apache-2.0
"""Rules about the things of a world: in words, in SHACL, and with changes that break them.

Each kind of rule is a function that draws one for a class (:mod:`kgbench.worlds.rule_kinds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from kgbench.vocab import XSD
from kgbench.worlds.clauses import prefixed_name
from kgbench.worlds.generator import Graph
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance
from kgbench.worlds.scene_changes import Change


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in words and in SHACL, with changes that break it or only just keep to it.

    ``target``, ``path`` and ``constraint`` are Turtle; the path ``""`` stands for the focus nodes
    themselves. No two rules of a set have the same ``path`` and ``group``. ``kinds`` are the
    classes whose things a graph needs, ``properties`` the IRIs of the properties that the rule is
    about. ``also_breaks`` and ``also_keeps`` are for trial graphs only. If a graph that keeps to
    all rules can have none of ``also_keeps``, another rule idles a part of this one.
    """

    component: str
    words: str
    target: str
    path: str
    constraint: str
    group: str
    kinds: tuple[str, ...]
    properties: tuple[str, ...]
    breaks: Change
    keeps: Change | None = None
    also_breaks: tuple[Change, ...] = ()
    also_keeps: tuple[Change, ...] = ()


class NoRule(LookupError):
    """A class has no properties for a kind of rule."""


class RuleContext(NamedTuple):
    """The context for drawing a rule: a graph, a class and random draws."""

    graph: Graph
    kind: str
    chance: Chance

    @property
    def target(self) -> str:
        """The target of a shape about the class, in Turtle."""
        return f"sh:targetClass {self.term(self.kind)}"

    @property
    def label(self) -> str:
        """The label of the class."""
        return self.graph.model.kinds[self.kind].label

    def term(self, iri: str) -> str:
        """Return a term of the model as a prefixed name."""
        return prefixed_name(self.graph, iri)

    def one(self, condition: Callable[[Property], bool] | None = None) -> Property:
        """Draw a property of the class, optionally one that meets a condition.

        Raises :class:`NoRule` if there is none.
        """
        has = self.graph.model.has(self.kind)
        candidates = has if condition is None else [prop for prop in has if condition(prop)]
        if not candidates:
            raise NoRule
        return self.chance.one(candidates)

    def every(self, prop: Property, words: str) -> str:
        """Return in words what every value of a property at the things of the class is."""
        return f'Every value of "{prop.label}" of {with_article(self.label)} {words}.'

    def rule(
        self,
        component: str,
        words: str,
        constraint: str,
        breaks: Change,
        *,
        keeps: Change | None = None,
        also_breaks: Iterable[Change] = (),
        also_keeps: Iterable[Change] = (),
        of: Sequence[Property] = (),
        target: str = "",
        path: str | None = None,
        group: str = "",
        kinds: tuple[str, ...] = (),
        properties: tuple[str, ...] = (),
    ) -> Rule:
        """Build a rule, by default about the things of the class.

        If it is ``of`` a property, it is by default about the values of this one.
        """
        if path is None:
            path = self.term(of[0].iri) if of else ""
        return Rule(
            component,
            words,
            target or self.target,
            path,
            constraint,
            group or component,
            kinds or (self.kind,),
            properties or tuple(prop.iri for prop in of),
            breaks,
            keeps,
            tuple(also_breaks),
            tuple(also_keeps),
        )


RuleDrawer = Callable[[RuleContext], Rule]


def turtle(rules: Sequence[Rule]) -> str:
    """Write rules in SHACL: one node shape for each target, without prefixes."""
    by_target: dict[str, list[Rule]] = {}
    for rule in rules:
        by_target.setdefault(rule.target, []).append(rule)
    shapes = []
    for number, (target, of_target) in enumerate(by_target.items(), 1):
        parts = [f"s:Shape{number} a sh:NodeShape", target]
        parts += [rule.constraint for rule in of_target if not rule.path]
        by_path: dict[str, list[str]] = {}
        for rule in of_target:
            if rule.path:
                # A property shape cannot have two qualified value shapes.
                key = rule.path + rule.component * rule.component.startswith("Qualified")
                by_path.setdefault(key, [f"sh:path {rule.path}"]).append(rule.constraint)
        parts += [f"sh:property [ {' ; '.join(lines)} ]" for lines in by_path.values()]
        shapes.append(" ;\n    ".join(parts) + " .")
    return "\n\n".join(shapes)


def parameter(component: str) -> str:
    """Return the property that has the value of a component, in Turtle."""
    return f"sh:{component[0].lower()}{component[1:]}"


def with_value(path: str) -> str:
    """Return the shape of what has a value of a property, in Turtle."""
    return f"[ sh:property [ sh:path {path} ; sh:minCount 1 ] ]"


def values(number: int) -> str:
    """Return a number of values in words."""
    return "one value" if number == 1 else f"{number} values"


def with_article(noun: str) -> str:
    """Return a noun, perhaps in quotation marks, with its indefinite article."""
    return f"an {noun}" if noun.lstrip('"')[0] in "aeiou" else f"a {noun}"


def value_in_words(prop: Property, value: int) -> str:
    """Return a number or date of a property in words."""
    return date.fromordinal(value).isoformat() if prop.range == XSD.date else str(value)


def value_in_turtle(prop: Property, value: int) -> str:
    """Return a number or date of a property in Turtle."""
    return f'"{value_in_words(prop, value)}"^^xsd:date' if prop.range == XSD.date else str(value)
