# SPDX-License-Identifier: Apache-2.0
"""Rules about the things of a world: in words, as SHACL, and how a graph breaks or just keeps them.

Kinds of rules are functions that draw one for a class: :mod:`kgbench.worlds.value_rules` and
:mod:`kgbench.worlds.structural_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from kgbench.vocab import XSD
from kgbench.worlds.breaches import Change
from kgbench.worlds.clauses import shown
from kgbench.worlds.generator import Graph
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what it says in words and in SHACL, and changes that break it or just keep to it.

    ``target`` and ``constraint`` are Turtle, and so is ``path`` (``""``: of the nodes themselves).
    ``group`` is what no other rule may say about the same path. ``kinds`` are classes of which a
    graph needs things, ``properties`` (IRIs) what the rule is about.
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


class Draw(NamedTuple):
    """What a rule is drawn for: a class of a graph, by chance."""

    graph: Graph
    kind: str
    chance: Chance

    @property
    def target(self) -> str:
        """The target of a shape about the class, in Turtle."""
        return f"sh:targetClass {self.term(self.kind)}"

    @property
    def label(self) -> str:
        """The name of the class."""
        return self.graph.model.kinds[self.kind].label

    def term(self, iri: str) -> str:
        """Return a term of the model in Turtle."""
        return shown(self.graph, iri)

    def one(self, wanted: Callable[[Property], bool] | None = None) -> Property | None:
        """Return a property of the class."""
        has = self.graph.model.has(self.kind)
        among = has if wanted is None else [one for one in has if wanted(one)]
        return self.chance.one(among) if among else None

    def on(
        self, component: str, each: Property, words: str, constraint: str, group: str = ""
    ) -> Callable[[Change, Change | None], Rule]:
        """Return a rule about the values of a property; what breaks it is still to be said."""

        def made(breaks: Change, keeps: Change | None = None) -> Rule:
            path = self.term(each.iri)
            return Rule(
                *(component, words, self.target, path, constraint, group or component),
                *((self.kind,), (each.iri,), breaks, keeps),
            )

        return made


Kind = Callable[[Draw], Rule | None]


def turtle(rules: Sequence[Rule]) -> str:
    """Rules as SHACL: one node shape for each target, without prefixes."""
    by_target: dict[str, list[Rule]] = {}
    for rule in rules:
        by_target.setdefault(rule.target, []).append(rule)
    shapes = []
    for number, (target, of) in enumerate(by_target.items(), 1):
        parts = [f"s:Shape{number} a sh:NodeShape", target]
        parts += [rule.constraint for rule in of if not rule.path]
        by_path: dict[str, list[str]] = {}
        for rule in of:
            if rule.path:
                # One property shape cannot have two qualified shapes.
                key = rule.path + rule.component * rule.component.startswith("Qualified")
                by_path.setdefault(key, [f"sh:path {rule.path}"]).append(rule.constraint)
        parts += [f"sh:property [ {' ; '.join(said)} ]" for said in by_path.values()]
        shapes.append(" ;\n    ".join(parts) + " .")
    return "\n\n".join(shapes)


def values(number: int) -> str:
    """So many values, in words."""
    return "one value" if number == 1 else f"{number} values"


def with_article(noun: str) -> str:
    """Return a noun with its article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def written(each: Property, value: int) -> str:
    """Return a number or date of a property in words."""
    return date.fromordinal(value).isoformat() if each.range == XSD.date else str(value)


def in_turtle(each: Property, value: int) -> str:
    """Return a number or date of a property in Turtle."""
    return f'"{written(each, value)}"^^xsd:date' if each.range == XSD.date else str(value)
