# SPDX-License-Identifier: Apache-2.0
"""Plans of runs: from a configuration, the quick start, or a suite of imported results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kgbench import config as configurations
from kgbench.config import turtle
from kgbench.config.names import checked_suite, suites_of_results
from kgbench.engine.planning import recorded_prompts
from kgbench.errors import NoStore, TaskError, nearest
from kgbench.model import ModelSetup, Plan, Task
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue

_NAMED = 2  # maximal numbers of models and patterns in a name
_LONGEST = 48  # characters of each of them; names have at most 200
_DIGITS = 6


def plan_of(
    config: str | Path | None,
    reader: Callable[[], AbstractContextManager[Store]],
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    **chosen: Any,
) -> Plan:
    """Return the plan of the configuration at ``config``, with the fields in ``chosen`` replaced.

    Without a configuration it is the plan of the quick start, or of all imported cases of the
    suite in ``chosen``, in the store that ``reader`` opens. Such a plan is named after ``tasks``
    and ``models``. All arguments have the same meaning as in :func:`kgbench.config.load`. Raises
    :class:`~kgbench.errors.TaskError` for a suite that is not declared, and the errors of
    :func:`kgbench.config.load`.
    """
    suite = chosen.get("suite")
    if suite is not None:
        checked_suite(suite)
    if config is not None:
        return configurations.load(config, tasks=tasks, models=models, **chosen)
    if suite is not None and suite in suites_of_results():
        try:
            with reader() as opened:
                plan = whole_suite(opened, tasks=tasks, models=models, **chosen)
        except NoStore as error:
            raise _no_results(suite, str(error).partition(":")[0]) from error
    else:
        plan = configurations.quick_start(tasks=tasks, models=models, **chosen)
    prefix = f"{suite}: " if suite else ""
    plan = replace(plan, name=ad_hoc_name(plan, prefix=prefix, tasks=tasks, models=models))
    return replace(plan, source_ttl=turtle.plan_to_turtle(plan))


def whole_suite(
    store: Store,
    suite: str,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    iterations: int | None = None,
    **overrides: Any,
) -> Plan:
    """Return a plan for all imported cases of ``suite`` under their published labels, each once.

    ``tasks`` are globs over labels and task classes; ``models`` are specifications, or globs over
    the models of the quick start; ``iterations`` is a number of dialogues per label instead, and
    ``overrides`` are further fields of the plan.
    Raises :class:`~kgbench.errors.TaskError` if the store has no such cases, and
    :class:`~kgbench.errors.ConfigurationError` for unknown models.
    """
    current = (catalogue.as_new_task(task) for task, _ in recorded_prompts(store, suite))
    recorded = list({task.iri: task for task in current}.values())
    if not recorded:
        raise _no_results(suite, f"the store {store.location} has none")
    for glob in tasks or ():
        if not any(_matches(task, glob) for task in recorded):
            hint = nearest(glob, {task.label for task in recorded})
            raise TaskError(f"no task of the suite {suite} fits {glob}: {hint}")
    chosen = [t for t in recorded if not tasks or any(_matches(t, glob) for glob in tasks)]
    base = configurations.quick_start(models=models, iterations=iterations, **overrides)
    plan = replace(
        base,
        name=suite,
        suite=suite,
        tasks=tuple(chosen),
        iterations=iterations or 1,
        iterations_per_case=iterations is None,
    )
    return replace(plan, source_ttl=turtle.plan_to_turtle(plan))


def _no_results(suite: str, reason: str) -> TaskError:
    """Return the error for a suite of imported cases; ``reason`` says why there are none."""
    return TaskError(
        f"the suite {suite} has the cases of its published results, and {reason}: "
        f"{suites_of_results()[suite]}"
    )


def _matches(task: Task, glob: str) -> bool:
    return fnmatchcase(task.label, glob) or fnmatchcase(task.task_class, glob)


def ad_hoc_name(
    plan: Plan,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    prefix: str = "",
) -> str:
    """Return the name of a run of ``plan`` that is restricted to ``tasks`` and ``models``.

    The same selection has the same name in any order, so that the same command continues its run. A
    digest at the end distinguishes selections whose models differ only in their address, which the
    name does not contain. ``prefix`` begins the name. Without a selection, the name is that of the
    plan.
    """
    if not tasks and not models:
        return plan.name
    patterns = sorted(set(tasks or ()))
    setups = sorted(plan.models, key=lambda setup: setup.spec) if models else []
    part = digest(canonical_json({"tasks": patterns, "models": [setup.spec for setup in setups]}))
    words = []
    if setups:
        words.append(_listed(list(dict.fromkeys(_name(setup) for setup in setups))))
    if patterns:
        words.append(f"on {_listed(patterns)}")
    return f"{prefix}{' '.join(words)} ({part[:_DIGITS]})"


def _name(setup: ModelSetup) -> str:
    return f"{setup.connector}:{setup.model_id}"


def _listed(names: Sequence[str]) -> str:
    """Join the first names, and add how many more there are.

    >>> _listed(["a", "b"]), _listed(["a", "b", "c", "d"])
    ('a, b', 'a, b and 2 more')
    """
    short_names = [
        name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..." for name in names
    ]
    more = f" and {len(short_names) - _NAMED} more" if len(short_names) > _NAMED else ""
    return ", ".join(short_names[:_NAMED]) + more


def run_to_continue(store: Store, plan: Plan) -> RunInfo | None:
    """Return the newest live run with a plan's name and suite, which the same command continues."""
    suite = store.iris.mint("suite", suite=plan.suite)
    for run in reading.runs(store):
        if run.label == plan.name and run.suite == suite:
            kinds = {pass_.kind for pass_ in reading.passes(store, run)}
            if "live" in kinds:
                return run
    return None


def continued(store: Store, plan: Plan, run: str | None, *, new: bool) -> RunInfo | None:
    """Find the run to continue: the run called ``run``, else the newest with the plan's name.

    Returns ``None`` if there is no such run, or if a ``new`` run is requested. Raises
    :class:`~kgbench.errors.StoreError` for a name that no run has.
    """
    if run is not None:
        return reading.find_run(store, run)
    return None if new else run_to_continue(store, plan)
