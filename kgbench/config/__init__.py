# SPDX-License-Identifier: Apache-2.0
"""Benchmark configurations: YAML, JSON or Turtle -> tree -> :class:`~kgbench.model.Plan`.

The tree becomes RDF for its validation, and the plan for its record. The allowed content of a
configuration is defined in ``shapes/configuration.ttl`` and documented in
``docs/configuration.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgbench import resources
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import ModelSetup, Plan

if TYPE_CHECKING:
    from kgbench.connectors.declared import Requirement

__all__ = ["Report", "check", "load", "model_setup", "quick_start", "validate"]

QUICK_START, ANY_TASK = "quick-start.yaml", "any-task.yaml"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of :func:`check`.

    ``findings`` are the reasons why the configuration is refused. If there are none,
    ``unavailable`` lists the selected tasks and models that this installation cannot run,
    ``requirements`` what models need options of `kgbench run` for, and the
    counts are those of the configuration; ``iterations`` are per case if ``per_case`` is true.
    """

    findings: tuple[Finding, ...]
    unavailable: tuple[Finding, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    lacking: tuple[str, ...] = ()
    tasks: int = 0
    models: int = 0
    iterations: int = 0
    per_case: bool = False


def check(path: str | Path) -> Report:
    """Check the configuration at ``path`` without running it."""
    from kgbench.config import planning
    from kgbench.connectors import lacking
    from kgbench.connectors.declared import requirements

    try:
        resolved = planning.resolve(Path(path), {})
    except ConfigurationError as error:
        return Report(tuple(error.findings))
    values = resolved.tree.value
    per_case = "iterationsPerCase" in values
    setups = [choice.available for choice in resolved.models if choice.available]
    return Report(
        findings=(),
        unavailable=tuple(resolved.unavailable),
        requirements=tuple(needed for setup in setups for needed in requirements(setup)),
        lacking=tuple(filter(None, map(lacking, setups))),
        tasks=len(resolved.tasks),
        models=len(resolved.models),
        iterations=values["iterationsPerCase" if per_case else "iterations"],
        per_case=per_case,
    )


def validate(path: str | Path) -> list[Finding]:
    """Return the reasons why the configuration at ``path`` is refused; empty if it is accepted."""
    return list(check(path).findings)


def load(
    path: str | Path,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    **overrides: Any,
) -> Plan:
    """Load the configuration at ``path`` as a plan.

    ``tasks`` are patterns over task labels and classes, ``models`` patterns over labels, model ids
    and specifications, or specifications of models that the configuration lacks; both keep the
    order of the configuration. ``overrides`` are fields of a plan, such as ``iterations``, that
    replace those of the configuration before it is validated, except for ``None``.

    Selected tasks and models that cannot be run here are left out; the plan lists them. Raises
    :class:`~kgbench.errors.ConfigurationError` if the configuration is refused, if a selection
    matches nothing, and if no task or no model is left.
    """
    from kgbench.config import planning

    chosen = {field: value for field, value in overrides.items() if value is not None}
    resolved = planning.resolve(Path(path), chosen)
    return planning.plan(resolved, Path(path).stem, tasks=tasks, models=models)


def quick_start(
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    **overrides: Any,
) -> Plan:
    """Return the plan without a configuration: baseline models, tasks of ``quick-start.yaml``.

    ``tasks`` are patterns over all installed tasks; the rest as for :func:`load`.
    """
    path = resources.path("tasks", ANY_TASK if tasks else QUICK_START)
    return load(path, tasks=tasks, models=models, **overrides)


def model_setup(spec: str) -> ModelSetup:
    """Return the model of a specification such as ``openai:NAME@http://host/v1``.

    Raises :class:`~kgbench.errors.ModelSpecError`, with the nearest names, for unknown ones.
    """
    from kgbench.config import specs

    return specs.model_setup(spec)
