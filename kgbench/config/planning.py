# SPDX-License-Identifier: Apache-2.0
"""Resolution of a configuration to a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import Any

from kgbench.config import choices, conformance, names, specs, turtle
from kgbench.config.choices import Choice, ModelChoice, TaskChoice
from kgbench.config.gathering import Gathered, is_file
from kgbench.config.settings import Entry
from kgbench.errors import ConfigurationError, Finding, ModelSpecError
from kgbench.model import Json, ModelSetup, Plan, Task
from kgbench.nearest import nearest

DEFAULT_SUITE = "kgbench-1"

# Keys of a configuration with single values, and the fields of a plan that they set.
_FIELDS = {
    "seed": "seed",
    "concurrency": "concurrency",
    "callTimeout": "call_timeout",
    "judgeTimeout": "judge_timeout",
    "maxRetries": "max_retries",
    "requestsPerMinute": "requests_per_minute",
    "tokensPerMinute": "tokens_per_minute",
    "maxCost": "max_cost",
    "maxTokens": "max_tokens",
    "prices": "prices",
    "batch": "batch",
    "toolProtocol": "tool_protocol",
}
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
    """A configuration with all entries resolved; ``findings`` are reasons to refuse it."""

    gathered: Gathered
    tasks: tuple[TaskChoice, ...]
    models: tuple[ModelChoice, ...]
    findings: tuple[Finding, ...]

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


def resolve(gathered: Gathered) -> Resolved:
    """Resolve the entries of a configuration to tasks and models."""
    settings = gathered.settings
    tasks, findings = choices.tasks(gathered.tasks, settings.sizes)
    models, wrong = choices.models(gathered.models)
    findings += wrong
    for key, entries in (("tasks", gathered.tasks), ("models", gathered.models)):
        if not entries:
            findings.append(
                settings.origin.finding("", f"there are no {key}; needed: at least one")
            )
    suite = str(settings.values.get("suite", DEFAULT_SUITE))
    if suite not in names.suites():
        message = f"unknown suite '{suite}': {nearest(suite, names.suites())}"
        findings.append(settings.origin.finding("/suite", message))
    table = settings.values.get("prices")
    if table is not None and not is_file(gathered.folder / table):
        message = f"the price table is missing: there is no file {gathered.folder / table}"
        findings.append(settings.origin.finding("/prices", message))
    findings.sort(key=lambda f: (f.source != settings.origin.source, f.source, f.line or 0))
    return Resolved(gathered, tuple(tasks), tuple(models), tuple(findings))


def plan(
    resolved: Resolved,
    name: str,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    iterations: int | None = None,
) -> Plan:
    """Return the plan for the selected part of a configuration; ``name`` is the default name.

    ``tasks`` and ``models`` are patterns over labels, task classes, model ids and specifications; a
    model specification that matches nothing in the configuration adds that model. ``iterations``
    overrides that of the configuration.

    Tasks and models that cannot be run here are left out; the plan lists them. Raises
    :class:`~kgbench.errors.ConfigurationError` for a refused configuration, for a selection that
    matches nothing, and if no task or no model is left.
    """
    findings = list(resolved.findings)
    chosen_tasks = _selected_tasks(resolved, tasks, findings)
    chosen_models = _selected_models(resolved, models, findings)
    if iterations is not None and iterations < 1:
        message = f"found {iterations}; allowed: a whole number of at least 1"
        findings.append(Finding("--iterations", "", message))
    available_tasks = tuple(
        choice.value for choice in chosen_tasks if choice.value and not choice.missing
    )
    available_models = tuple(
        choice.value for choice in chosen_models if choice.value and not choice.missing
    )
    if not available_tasks:
        findings += _unavailable(chosen_tasks)
    if not available_models:
        findings += _unavailable(chosen_models)
    if findings:
        raise ConfigurationError(findings)
    result = _plan(resolved.gathered, name, available_tasks, available_models, iterations)
    passed_over = _unavailable([*chosen_tasks, *chosen_models])
    return replace(result, passed_over=tuple(map(str, passed_over)))


def _plan(
    gathered: Gathered,
    name: str,
    tasks: tuple[Task, ...],
    models: tuple[ModelSetup, ...],
    iterations: Json,
) -> Plan:
    values = gathered.settings.values
    per_case = iterations is None and "iterationsPerCase" in values
    if iterations is None:
        iterations = values["iterationsPerCase" if per_case else "iterations"]
    limits: dict[str, Json] = {
        field: _KINDS.get(field, _as_it_is)(values[key])
        for key, field in _FIELDS.items()
        if key in values
    }
    if "prices" in limits:
        limits["prices"] = gathered.folder / limits["prices"]
    result = Plan(
        name=values.get("name", name),
        suite=values.get("suite", DEFAULT_SUITE),
        tasks=tasks,
        models=models,
        iterations=iterations,
        iterations_per_case=per_case,
        **limits,
    )
    return replace(result, source_ttl=turtle.plan_to_turtle(result))


def checked_fields(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Check values for fields of a plan as those of a configuration, and convert them likewise.

    ``chosen`` may have ``iterations``; the price table is not checked. Raises
    :class:`~kgbench.errors.ConfigurationError`, with the names of the fields, for refused values.
    """
    fields = {**_FIELDS, "iterations": "iterations"}
    values = {
        key: _as_json(chosen[field])
        for key, field in fields.items()
        if field in chosen and key != "prices"
    }
    refused = conformance.value_findings(values) if values else []
    if refused:
        raise ConfigurationError(
            [Finding(fields.get(f.pointer[1:], "argument"), "", f.message) for f in refused]
        )
    return {field: _KINDS.get(field, _as_it_is)(value) for field, value in chosen.items()}


def _as_json(value: Any) -> Json:
    """Return an argument as JSON: what is neither boolean nor finite number becomes text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal) and math.isfinite(value):
        return float(value)
    return str(value)


def _as_it_is(value: Json) -> Json:
    return value


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
        message = f"selects no model of the configuration: {nearest(spec, known)}"
        findings.append(specs.option_finding(spec, message))
        return []
    origin = resolved.gathered.settings.origin
    try:
        return [choices.choice_of(Entry(origin, "", text=spec), specs.model_setup(spec))]
    except ModelSpecError as error:
        findings.append(specs.option_finding(spec, str(error)))
        return []


def _matches(candidates: tuple[str, ...], pattern: str) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in candidates)
