# SPDX-License-Identifier: Apache-2.0
"""Resolution of a configuration to a plan."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from kgbench.config import choices, names, reading, specs, turtle
from kgbench.config.choices import Choice, ModelChoice, TaskChoice
from kgbench.config.reading import Entry, is_file
from kgbench.config.trees import Tree
from kgbench.errors import ConfigurationError, Finding, ModelSpecError, nearest
from kgbench.model import Json, Plan

DEFAULT_SUITE = "kgbench-1"

# Keys of a configuration that are no fields of a plan; the others are, in snake case.
_LISTS = frozenset({"tasks", "models", "sizes", "include", "iterationsPerCase"})
# Fields whose values need conversion.
_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "call_timeout": float,
    "judge_timeout": float,
    "requests_per_minute": float,
    "tokens_per_minute": float,
    "max_cost": lambda amount: Decimal(str(amount)),
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """An accepted configuration with all entries resolved.

    ``folder`` is the folder of the file, to which its paths are relative, and ``chosen`` has fields
    of a plan whose values replace those of the file.
    """

    folder: Path
    tree: Tree
    chosen: Mapping[str, Any]
    tasks: tuple[TaskChoice, ...]
    models: tuple[ModelChoice, ...]

    @property
    def unavailable(self) -> list[Finding]:
        """The selected tasks and models that this installation cannot run."""
        return _unavailable([*self.tasks, *self.models])


def _unavailable(chosen: Sequence[Choice[Any]]) -> list[Finding]:
    return [
        choice.entry.finding(f"'{choice.label}' cannot be run here: {choice.missing}")
        for choice in chosen
        if choice.missing
    ]


def resolve(path: Path, chosen: Mapping[str, Any]) -> Resolved:
    """Read the configuration at ``path`` and resolve its entries to tasks and models.

    ``chosen`` has fields of a plan, and ``iterations``, that replace those of the file before it is
    validated. Raises :class:`~kgbench.errors.ConfigurationError` if the configuration is refused.
    """
    overrides = {
        re.sub("_[a-z]", lambda found: found[0][1].upper(), field): (field, _as_json(value))
        for field, value in chosen.items()
        if field != "prices"  # a path relative to the working folder, which is not checked
    }
    trees = reading.gather(path, overrides)
    tree, folder = trees[-1], path.parent
    written = {
        key: [entry for each in trees for entry in reading.entries(each, key)]
        for key in ("tasks", "models")
    }
    findings: list[Finding] = []
    tasks = choices.tasks(written["tasks"], reading.members(tree, "sizes"), findings)
    models = choices.models(written["models"], findings)
    for key, entries in written.items():
        if not entries:
            findings.append(tree.finding("", f"there are no {key}; needed: at least one"))
    suite = tree.value.get("suite", DEFAULT_SUITE)
    if suite not in names.suites():
        message = f"unknown suite '{suite}': {nearest(suite, names.suites())}"
        findings.append(tree.finding("/suite", message))
    table = tree.value.get("prices")
    if table is not None and "prices" not in chosen and not is_file(folder / table):
        message = f"the price table is missing: there is no file {folder / table}"
        findings.append(tree.finding("/prices", message))
    if findings:
        findings.sort(key=lambda f: (f.source != tree.source, f.source, f.line or 0))
        raise ConfigurationError(findings)
    return Resolved(folder, tree, chosen, tuple(tasks), tuple(models))


def plan(
    resolved: Resolved,
    name: str,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
) -> Plan:
    """Return the plan for the selected part of a configuration; ``name`` is the default name.

    ``tasks`` and ``models`` are patterns over labels, task classes, model ids and specifications; a
    model specification that matches nothing in the configuration adds that model.

    Tasks and models that cannot be run here are left out; the plan lists them. Raises
    :class:`~kgbench.errors.ConfigurationError` for a selection that matches nothing, and if no task
    or no model is left.
    """
    findings: list[Finding] = []
    chosen_tasks = _selected_tasks(resolved, tasks, findings)
    chosen_models = _selected_models(resolved, models, findings)
    available_tasks = tuple(task for choice in chosen_tasks if (task := choice.available))
    available_models = tuple(setup for choice in chosen_models if (setup := choice.available))
    if not available_tasks:
        findings += _unavailable(chosen_tasks)
    if not available_models:
        findings += _unavailable(chosen_models)
    if findings:
        raise ConfigurationError(findings)
    values = resolved.tree.value
    fields = {
        re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key): value
        for key, value in values.items()
        if key not in _LISTS
    }
    if "prices" in fields:
        fields["prices"] = resolved.folder / fields["prices"]
    if "iterationsPerCase" in values:
        fields |= {"iterations": values["iterationsPerCase"], "iterations_per_case": True}
    fields = {"name": name, "suite": DEFAULT_SUITE, **fields, **resolved.chosen}
    result = Plan(
        tasks=available_tasks,
        models=available_models,
        passed_over=tuple(map(str, _unavailable([*chosen_tasks, *chosen_models]))),
        **{
            field: _KINDS[field](value) if field in _KINDS else value
            for field, value in fields.items()
        },
    )
    return replace(result, source_ttl=turtle.plan_to_turtle(result))


def _as_json(value: Any) -> Json:
    """Return an argument as JSON: what is neither boolean nor finite number becomes text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal) and math.isfinite(value):
        return float(value)
    return str(value)


def _selected_tasks(
    resolved: Resolved, patterns: Sequence[str] | None, findings: list[Finding]
) -> list[TaskChoice]:
    if not patterns:
        return list(resolved.tasks)
    known = {choice.label for choice in resolved.tasks}

    def selects(pattern: str, choice: TaskChoice) -> bool:
        # A label may be the name of a class that has further labels.
        return choice.label == pattern if pattern in known else _matches(choice.names, pattern)

    for pattern in patterns:
        if not any(selects(pattern, choice) for choice in resolved.tasks):
            message = f"selects no task of the configuration: {nearest(pattern, known)}"
            findings.append(Finding(f"--task {pattern}", "", message))
    return [c for c in resolved.tasks if any(selects(pattern, c) for pattern in patterns)]


def _selected_models(
    resolved: Resolved, patterns: Sequence[str] | None, findings: list[Finding]
) -> list[ModelChoice]:
    if not patterns:
        return list(resolved.models)
    selected: dict[str, ModelChoice] = {}
    for pattern in patterns:
        matching = [choice for choice in resolved.models if _matches(choice.names, pattern)]
        if not matching and ":" not in pattern:
            matching = [
                choice
                for choice in resolved.models
                if _matches(tuple(_without_connectors(choice.names)), pattern)
            ]
        if not matching:
            matching = _named_outside(resolved, pattern, findings)
        for choice in matching:
            if selected.setdefault(choice.label, choice).value != choice.value:
                message = (
                    f"there is another model '{choice.label}' already: write both into a "
                    f"configuration, each with a label of its own"
                )
                findings.append(specs.option_finding(pattern, message))
    return list(selected.values())


def _without_connectors(names: Iterable[str]) -> Iterator[str]:
    """Yield the part of each name after its connector; labels without one have no such part."""
    return (name.partition(":")[2] for name in names if ":" in name)


def _named_outside(resolved: Resolved, spec: str, findings: list[Finding]) -> list[ModelChoice]:
    """Return the model with the specification ``spec``, which the configuration lacks."""
    if ":" not in spec:
        known = {choice.label for choice in resolved.models}
        message = (
            f"selects no model of the configuration, and names no connector: write CONNECTOR:NAME, "
            f"such as openai:{spec or 'NAME'} ({nearest(spec, known)})"
        )
        findings.append(specs.option_finding(spec, message))
        return []
    origin = resolved.tree
    try:
        return [choices.choice_of(Entry(origin, "", text=spec), specs.model_setup(spec))]
    except ModelSpecError as error:
        findings.append(specs.option_finding(spec, str(error)))
        return []


def _matches(candidates: tuple[str, ...], pattern: str) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in candidates)
