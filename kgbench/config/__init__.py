# SPDX-License-Identifier: Apache-2.0
"""Benchmark configurations: YAML, JSON or Turtle -> RDF -> SHACL -> :class:`~kgbench.model.Plan`.

The allowed content of a configuration is defined in ``shapes/configuration.ttl`` and documented in
``docs/configuration.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgbench import resources
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import ModelSetup, Plan

if TYPE_CHECKING:
    from kgbench.config.planning import Resolved
    from kgbench.connectors.permissions import Requirement

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
    tasks: int = 0
    models: int = 0
    iterations: int = 0
    per_case: bool = False


def check(path: str | Path) -> Report:
    """Check the configuration at ``path`` without running it."""
    from kgbench.connectors.permissions import requirements

    try:
        resolved = _resolved(path)
    except ConfigurationError as error:
        return Report(tuple(error.findings))
    if resolved.findings:
        return Report(resolved.findings)
    values = resolved.gathered.settings.values
    per_case = "iterationsPerCase" in values
    return Report(
        findings=(),
        unavailable=tuple(resolved.unavailable),
        requirements=tuple(
            needed
            for choice in resolved.models
            if choice.value and not choice.missing
            for needed in requirements(choice.value)
        ),
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
    iterations: int | None = None,
) -> Plan:
    """Load the configuration at ``path`` as a plan.

    ``tasks`` are patterns over task labels and classes, ``models`` patterns over labels, model ids
    and specifications, or specifications of models that the configuration lacks; both keep the
    order of the configuration. ``iterations`` overrides that of the configuration.

    Selected tasks and models that cannot be run here are left out; the plan lists them. Raises
    :class:`~kgbench.errors.ConfigurationError` if the configuration is refused, if a selection
    matches nothing, and if no task or no model is left.
    """
    from kgbench.config import planning

    return planning.plan(
        _resolved(path), Path(path).stem, tasks=tasks, models=models, iterations=iterations
    )


def quick_start(
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    iterations: int | None = None,
) -> Plan:
    """Return the plan without a configuration: baseline models, tasks of ``quick-start.yaml``.

    ``tasks`` are patterns over all installed tasks.
    """
    path = resources.path("tasks", ANY_TASK if tasks else QUICK_START)
    return load(path, tasks=tasks, models=models, iterations=iterations)


def model_setup(spec: str) -> ModelSetup:
    """Return the model of a specification such as ``openai:NAME@http://host/v1``.

    Raises :class:`~kgbench.errors.ModelSpecError`, with the nearest names, for unknown ones.
    """
    from kgbench.config import specs

    return specs.model_setup(spec)


def _resolved(path: str | Path) -> Resolved:
    from kgbench.config import gathering, planning

    return planning.resolve(gathering.gather(Path(path)))
