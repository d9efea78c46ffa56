# SPDX-License-Identifier: Apache-2.0
"""The rubrics of judges, declared in the folders ``rubrics``, and their wording in prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any

from kgbench import resources
from kgbench.errors import ResourceError, TaskError
from kgbench.nearest import nearest
from kgbench.rdf.declared import Declared
from kgbench.tasks import canary
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS

KINDS = ("check", "grade", "compare", "classify")


@dataclass(frozen=True, slots=True)
class Option:
    """A verdict that a rubric offers.

    ``value`` (0 to 1) is its numeric value. ``least_score`` is the smallest value of a task's main
    metric that implies it. ``undecided`` marks the option of judges that cannot decide.
    """

    iri: str
    name: str
    definition: str
    value: float | None = None
    least_score: float | None = None
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A short description of material, and the name of the verdict on it."""

    text: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion with its verdicts, in declared order."""

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
        """The name of the option for judges that cannot decide."""
        return next(option.name for option in self.options if option.undecided)

    def implied(self, score: float | None) -> str | None:
        """Return the name of the option that a main metric's value implies, or ``None``."""
        if score is None:
            return None
        reached = [
            (option.least_score, option.name)
            for option in self.options
            if option.least_score is not None and score >= option.least_score * (1 - 1e-9)
        ]
        return max(reached)[1] if reached else None

    def prompt(
        self, order: Sequence[str] = (), mark: str = "$mark", material: str = "$material"
    ) -> str:
        """Return the message to a judge about ``material``, whose parts begin with ``mark``.

        ``order`` has the names of the options in their order, by default the declared one.
        """
        definitions = {option.name: option.definition for option in self.options}
        options = [f"* {name}: {definitions[name]}" for name in order or definitions]
        examples = [f"* {example.text} VERDICT: {example.verdict}" for example in self.examples]
        text = canary.without_line(resources.text("rubrics", "prompt.txt")).strip()
        return Template(text).substitute(
            criterion=self.criterion,
            note=self.note,
            options="\n".join(options),
            examples="\n".join(examples),
            mark=mark,
            material=material,
        )


def rubric(name: str) -> Rubric:
    """Return the newest version of the rubric called ``name``.

    Raises :class:`~kgbench.errors.TaskError`, with the nearest name, for an unknown one.
    """
    known = rubrics()
    if name not in known:
        raise TaskError(f"there is no rubric '{name}': {nearest(name, known)}")
    return known[name]


def rubrics() -> Mapping[str, Rubric]:
    """Return the newest version of every declared rubric, by name."""
    return {version.name: version for version in all_rubric_versions()}


@cache
def all_rubric_versions() -> tuple[Rubric, ...]:
    """Return every version of every declared rubric, sorted by name and version."""
    files = resources.files("rubrics", "*.ttl")
    if not files:  # without the plug-in that brings them
        return ()
    declared = Declared(*files)
    versions = [_rubric(declared, node) for node in declared.instances(KGB.Rubric)]
    return tuple(sorted(versions, key=lambda version: (version.name, int(version.version))))


def _rubric(declared: Declared, node: Any) -> Rubric:
    options = {
        child.value: _option(declared, child) for child in declared.ordered(node, KGB.option)
    }
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
                declared.required(child, KGB.exampleText),
                options[declared.required(child, KGB.exampleVerdict)].name,
            )
            for child in declared.ordered(node, KGB.example)
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
