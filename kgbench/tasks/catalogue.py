# SPDX-License-Identifier: Apache-2.0
"""What can be measured: task classes, their labelled tasks and the code that judges them.

A task class is *declared* in a ``task.ttl``: those of kgbench in the folder ``tasks``, those of
other packages in the folder that their module names with the attribute ``FOLDER``. The *code* of
every task class is a module that the entry point group ``kgbench.tasks`` names; it is imported
when a task of the class is first used. What another package does wrong is its own affair: its
class cannot be used, and says why (:func:`unusable`), and all others can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from kgbench import resources
from kgbench.datasets import home
from kgbench.errors import ResourceError, TaskError
from kgbench.model import Case, Json, Task, TaskClass, TaskModule
from kgbench.nearest import nearest
from kgbench.on_demand import OnDemand
from kgbench.rdf import canonical_json, digest
from kgbench.store.iris import Iris, slug
from kgbench.tasks import declaration
from kgbench.tasks.parameters import labelled_task

GROUP = "kgbench.tasks"
DECLARATION = "task.ttl"

_CASE_DIGEST = 12  # hex digits of a case's digest in its IRI


def task_classes() -> dict[str, TaskClass]:
    """All task classes by name, in the order of their names."""
    return dict(_task_classes())


def task_class(name: str) -> TaskClass:
    """The task class called ``name``; :class:`~kgbench.errors.TaskError` where there is none."""
    found = _task_classes().get(name)
    if found is None:
        if name in unusable():
            raise TaskError(f"the task class '{name}' cannot be used: {unusable()[name]}")
        raise TaskError(f"there is no task class '{name}': {nearest(name, _task_classes())}")
    return found


def unusable() -> Mapping[str, str]:
    """The task classes of other packages that cannot be used, by name, and why."""
    return _foreign()[1]


def module(name: str) -> TaskModule:
    """The code of the task class called ``name``, imported on first use."""
    return _module(name)


def labelled_tasks() -> dict[str, Task]:
    """Every task that the task classes ship with and for which there is code, by label.

    Tasks of installed data sets come after them.
    """
    coded = [each for name, each in _task_classes().items() if name in _entry_points()]
    found = {task.label: task for each in coded for task in each.tasks}
    for class_name, label, parameters in home.labelled_tasks():
        if class_name in _entry_points():
            found.setdefault(label, make_task(class_name, label, parameters))
    return found


def make_task(class_name: str, label: str, parameters: Mapping[str, Json]) -> Task:
    """A task with its parameters converted to their declared kinds and completed by defaults.

    ``"1"`` becomes ``1``, the format ``nt`` becomes ``ntriples``. Unknown classes, parameters and
    values raise :class:`~kgbench.errors.TaskError`, which names what is nearest.
    """
    return labelled_task(task_class(class_name), label, parameters)


def check(task: Task) -> None:
    """Refuse a task whose parameters do not go together.

    A module says what does with the function ``check(task)``, which raises
    :class:`~kgbench.errors.TaskError`. Most have none.
    """
    of_class = getattr(module(task.task_class), "check", None)
    if of_class is not None:
        of_class(task)


def obstacle(case: Case) -> str | None:
    """Why no answer to ``case`` can be judged by its task class, or ``None``.

    A module says so with the function ``obstacle(case)``. Most have none.
    """
    of_class = getattr(module(case.task_class), "obstacle", None)
    found: str | None = None if of_class is None else of_class(case)
    return found


def make_case(
    suite: str,
    task_class: str,
    parameters: Mapping[str, Json],
    data: Mapping[str, Json],
    uid: str | None = None,
) -> Case:
    """A case with its identity: the SHA-256 of task class, parameters and data as canonical JSON.

    ``uid`` is the name that the case goes by within its suite, where it has one.
    """
    content = {"class": task_class, "parameters": dict(parameters), "data": dict(data)}
    of_content = digest(canonical_json(content))
    iri = Iris().mint(
        "case",
        suite=suite,
        task_class=task_class,
        uid="case" if uid is None else slug(uid),
        digest=of_content[:_CASE_DIGEST],
    )
    return Case(iri, suite, task_class, dict(parameters), dict(data), of_content, uid)


def generated(
    task: Task, suite: str, count: int, data: Callable[[int], Mapping[str, Json]]
) -> Sequence[Case]:
    """``count`` cases of a task, each made from the ``data`` of its iteration when it is needed."""

    def made(iteration: int) -> Case:
        return make_case(suite, task.task_class, task.parameters, data(iteration))

    return OnDemand(count, made)


def metric_iris(class_name: str) -> dict[str, str]:
    """The metric IRIs of a task class by short name."""
    return {name: metric.iri for name, metric in task_class(class_name).metrics.items()}


def folder(class_name: str) -> Path:
    """The folder with the declaration, prompts and cases of a task class."""
    task_class(class_name)
    return _folders()[class_name]


def foreign_declaration(name: str, version: str) -> Path | None:
    """The declaration of a task class of another package in this version; ``None`` for all else."""
    found = _task_classes().get(name)
    if found is None or found.version != version:
        return None
    place = _folders()[name]
    return None if place.parent == resources.folder("tasks") else place / DECLARATION


def forget() -> None:
    """Look anew for what is installed and declared when it is next asked for."""
    for remembered in (_task_classes, _own, _foreign, _own_folders, _entry_points, _module):
        remembered.cache_clear()


@cache
def _task_classes() -> Mapping[str, TaskClass]:
    return dict(sorted({**_own(), **_foreign()[0]}.items()))


@cache
def _own() -> Mapping[str, TaskClass]:
    found: dict[str, TaskClass] = {}
    for name, place in sorted(_own_folders().items()):
        found[name] = _declared(name, place, found)
    return found


@cache
def _foreign() -> tuple[Mapping[str, TaskClass], Mapping[str, str]]:
    """The task classes of other packages, and what is wrong with those that are unusable."""
    found: dict[str, TaskClass] = {}
    wrong: dict[str, str] = {}
    for name in sorted(_entry_points().keys() - _own_folders().keys()):
        try:
            found[name] = _declared(name, _foreign_folder(name), {**_own(), **found})
        except Exception as error:  # noqa: BLE001 - whatever the code of others raises
            wrong[name] = f"{_entry_points()[name].value}: {str(error) or type(error).__name__}"
    return found, wrong


def _declared(name: str, place: Path, others: Mapping[str, TaskClass]) -> TaskClass:
    """The task class in a folder, with labels that none of the ``others`` has."""
    read = declaration.read(place / DECLARATION)
    if read.name != name:
        raise ResourceError(f"{place / DECLARATION} declares {read.name} instead of {name}")
    labels = {task.label: other.name for other in others.values() for task in other.tasks}
    for task in read.tasks:
        if task.label in labels:
            raise ResourceError(
                f"the task label {task.label} is declared by {labels[task.label]} and {name}"
            )
        labels[task.label] = name
    return read


def _folders() -> Mapping[str, Path]:
    """The folder of each task class."""
    return {**_own_folders(), **{name: _foreign_folder(name) for name in _foreign()[0]}}


@cache
def _own_folders() -> Mapping[str, Path]:
    return {path.parent.name: path.parent for path in resources.folder("tasks").glob("*/task.ttl")}


def _foreign_folder(name: str) -> Path:
    """The folder that the module of another package names; the module is imported for that."""
    place = getattr(_module(name), "FOLDER", None)
    if place is None:
        raise ResourceError(
            f"there is neither a folder tasks/{name} nor does the module name one with FOLDER"
        )
    declared = Path(place) / DECLARATION
    if not declared.is_file():
        raise ResourceError(
            f"its package was installed without {declared}: name the folder "
            f"{declared.parent.name}/ among the files of the package and install it again"
        )
    return Path(place)


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


@cache
def _module(name: str) -> TaskModule:
    point = _entry_points().get(name)
    if point is None:
        raise TaskError(
            f"there is no code for the task class '{name}' (entry points {GROUP}): "
            f"{nearest(name, _entry_points())}"
        )
    return cast("TaskModule", point.load())
