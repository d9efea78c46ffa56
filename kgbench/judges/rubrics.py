# SPDX-License-Identifier: Apache-2.0
"""The rubrics that the folder ``rubrics`` declares: what judges are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kgbench import resources
from kgbench.errors import ResourceError, TaskError
from kgbench.nearest import nearest
from kgbench.rdf.declared import Declared
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS

KINDS = ("check", "grade", "compare", "classify")


@dataclass(frozen=True, slots=True)
class Option:
    """A verdict that a rubric offers.

    ``value`` (0 to 1) is what it stands for. ``least_score`` is the least value of a task's main
    metric that implies it. With ``undecided``, whoever chooses it could not decide.
    """

    iri: str
    name: str
    definition: str
    value: float | None = None
    least_score: float | None = None
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """Material in short, and the verdict on it by its name."""

    text: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """One criterion with its closed set of verdicts, in the order in which they are declared."""

    iri: str
    name: str
    version: str
    label: str
    kind: str
    criterion: str
    note: str
    options: tuple[Option, ...]
    examples: tuple[Example, ...]

    @property
    def undecided(self) -> str:
        """The name of the option of a judge that cannot decide."""
        return next(option.name for option in self.options if option.undecided)

    def implied(self, score: float | None) -> str | None:
        """The name of the option that a value of a task's main metric implies, if any does."""
        if score is None:
            return None
        reached = [
            (option.least_score, option.name)
            for option in self.options
            if option.least_score is not None and score >= option.least_score * (1 - 1e-9)
        ]
        return max(reached)[1] if reached else None


def rubric(name: str) -> Rubric:
    """The rubric called ``name``, in its newest version.

    Raises :class:`~kgbench.errors.TaskError` with the nearest name where there is none.
    """
    found = rubrics()
    if name not in found:
        raise TaskError(f"there is no rubric '{name}': {nearest(name, found)}")
    return found[name]


def rubrics() -> Mapping[str, Rubric]:
    """The newest version of every declared rubric, by name."""
    return {one.name: one for one in every_rubric()}


@cache
def every_rubric() -> tuple[Rubric, ...]:
    """Every version of every declared rubric, by name, the newest one last."""
    declared = Declared(*sorted(resources.folder("rubrics").glob("*.ttl")))
    found = [_rubric(declared, node) for node in declared.instances(KGB.Rubric)]
    return tuple(sorted(found, key=lambda one: (one.name, int(one.version))))


def _rubric(declared: Declared, node: Any) -> Rubric:
    options = {each.value: _option(declared, each) for each in declared.ordered(node, KGB.option)}
    kind = declared.required(node, KGB.judgementKind)
    if kind not in KINDS or sum(option.undecided for option in options.values()) != 1:
        raise ResourceError(f"{node}: a rubric needs a known kind and one undecided option")
    return Rubric(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        label=declared.required(node, RDFS.label),
        kind=kind,
        criterion=declared.required(node, SKOS.definition),
        note=declared.text(node, SKOS.scopeNote) or "",
        options=tuple(options.values()),
        examples=tuple(
            Example(
                declared.required(each, KGB.exampleText),
                options[declared.required(each, KGB.exampleVerdict)].name,
            )
            for each in declared.ordered(node, KGB.example)
        ),
    )


def _option(declared: Declared, node: Any) -> Option:
    return Option(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        definition=declared.required(node, SKOS.definition),
        value=declared.read(node, KGB.optionValue, float),
        least_score=declared.read(node, KGB.leastScore, float),
        undecided=bool(declared.value(node, KGB.undecided)),
    )
