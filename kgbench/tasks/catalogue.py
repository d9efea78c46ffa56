# SPDX-License-Identifier: Apache-2.0
"""The catalogue of task classes, their labelled tasks, and their modules.

A task class is *declared* in a ``task.ttl``: in the folder ``tasks`` for the classes of kgbench, in
the folder given by the module attribute ``FOLDER`` for those of other packages. The *code* of a
task class is the attribute ``family`` of ``judge.py`` in its folder, or what an entry point in the
group ``kgbench.tasks`` names, imported when a task of the class is first used. A faulty class of
another package is unusable (:func:`unusable` gives the reason) but does not affect other classes.

Records keep the name and version of their class. They are judged again by its *successor*: the
current version of the class with the same name, or of the class that declares the name as its
``skos:altLabel``; the new scores belong to this class and version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

from kgbench import entry_points, resources
from kgbench.datasets import home
from kgbench.errors import ResourceError, TaskError, nearest
from kgbench.model import Case, Json, Task, TaskClass, TaskModule
from kgbench.rdf import canonical_json, digest
from kgbench.store.iris import Iris, slug
from kgbench.tasks import declaration
from kgbench.tasks.declaration import labelled_task, task_iri

GROUP = "kgbench.tasks"
DECLARATION = "task.ttl"
JUDGE = "judge.py"

_CASE_DIGEST = 12  # hex digits of a case's digest in its IRI


def task_classes() -> dict[str, TaskClass]:
    """Return all task classes by name, in the order of their names."""
    return dict(_task_classes())


def task_class(name: str) -> TaskClass:
    """Return the task class called ``name``.

    Raises :class:`~kgbench.errors.TaskError` if it is unknown.
    """
    if name in _own_folders():  # without reading the other declarations
        return _own_class(name)
    declared = _task_classes().get(name)
    if declared is None:
        if name in unusable():
            raise TaskError(f"the task class '{name}' cannot be used: {unusable()[name]}")
        raise TaskError(f"there is no task class '{name}': {nearest(name, _task_classes())}")
    return declared


def classes_with_code() -> frozenset[str]:
    """Return the names of all task classes that have a module."""
    return _own_families().union(entry_points.names(GROUP))


def foreign_classes() -> frozenset[str]:
    """Return the names of the task classes that other packages have a module for."""
    return classes_with_code() - _own_folders().keys()


def unusable() -> Mapping[str, str]:
    """Return the reasons why task classes of other packages cannot be used, by class name."""
    return _foreign()[1]


def module(name: str) -> TaskModule:
    """Return the module of the task class called ``name``, imported on first use."""
    if name in _own_families():
        return cast("TaskModule", import_module(f"kgbench.families.{name}.judge").family)
    if name not in classes_with_code():
        raise TaskError(
            f"there is no code for the task class '{name}' (entry points {GROUP}): "
            f"{nearest(name, classes_with_code())}"
        )
    return cast("TaskModule", entry_points.load(GROUP, name))


def labelled_tasks() -> dict[str, Task]:
    """Return all labelled tasks whose task class has a module, by label.

    Tasks of installed data sets come last.
    """
    coded = classes_with_code()
    usable = [task_class for name, task_class in _task_classes().items() if name in coded]
    tasks = {task.label: task for task_class in usable for task in task_class.tasks}
    for class_name, label, parameters in home.labelled_tasks():
        if class_name in coded:
            tasks.setdefault(label, make_task(class_name, label, parameters))
    return tasks


def make_task(class_name: str, label: str, parameters: Mapping[str, Json]) -> Task:
    """Make a task with parameters converted to their declared kinds and completed by defaults.

    ``"1"`` becomes ``1``, the format ``nt`` becomes ``ntriples``. Raises
    :class:`~kgbench.errors.TaskError`, with the nearest name, for unknown classes, parameters and
    values.
    """
    return labelled_task(task_class(class_name), label, parameters)


def check(task: Task) -> None:
    """Check that the parameters of a task are compatible, by the function ``check`` of its module.

    Raises :class:`~kgbench.errors.TaskError` if they are not. Most modules have no such function.
    """
    check_of_class = getattr(module(task.task_class), "check", None)
    if check_of_class is not None:
        check_of_class(task)


def obstacle(case: Case) -> str | None:
    """Return the reason why answers to ``case`` cannot be judged, or ``None``.

    The module of the task class gives it by the function ``obstacle``, which most do not have.
    """
    obstacle_of_class = getattr(module(case.task_class), "obstacle", None)
    reason: str | None = None if obstacle_of_class is None else obstacle_of_class(case)
    return reason


def make_case(
    suite: str,
    task_class: str,
    parameters: Mapping[str, Json],
    data: Mapping[str, Json],
    uid: str | None = None,
) -> Case:
    """Make a case with its digest: SHA-256 of task class, parameters and data as canonical JSON.

    ``uid`` is the name of the case within its suite, if it has one.
    """
    content = {"class": task_class, "parameters": dict(parameters), "data": dict(data)}
    content_digest = digest(canonical_json(content))
    iri = Iris().mint(
        "case",
        suite=suite,
        task_class=task_class,
        uid="case" if uid is None else slug(uid),
        digest=content_digest[:_CASE_DIGEST],
    )
    return Case(iri, suite, task_class, dict(parameters), dict(data), content_digest, uid)


def metric_iris(class_name: str) -> dict[str, str]:
    """Return the metric IRIs of a task class by short name."""
    return {name: metric.iri for name, metric in task_class(class_name).metrics.items()}


def folder(class_name: str) -> Path:
    """Return the folder with the declaration, prompts and cases of a task class."""
    task_class(class_name)  # raises if it is unknown
    return _own_folders().get(class_name) or _foreign_folder(class_name)


def foreign_declaration(name: str, version: str) -> Path | None:
    """Return the declaration of another package's task class in a version.

    The result is ``None`` for other classes.
    """
    task_class = _task_classes().get(name)
    if task_class is None or task_class.version != version:
        return None
    return None if name in _own_folders() else _foreign_folder(name) / DECLARATION


def clear_caches() -> None:
    """Clear the caches, so that installed and declared task classes are looked up again."""
    entry_points.clear_caches()
    for cached in (_task_classes, _own, _own_class, _foreign, _own_folders, _own_families):
        cached.cache_clear()


@cache
def _task_classes() -> Mapping[str, TaskClass]:
    return dict(sorted({**_own(), **_foreign()[0]}.items()))


@cache
def _own() -> Mapping[str, TaskClass]:
    classes: dict[str, TaskClass] = {}
    for name in sorted(_own_folders()):
        classes[name] = _with_new_labels(_own_class(name), classes)
    return classes


@cache
def _own_class(name: str) -> TaskClass:
    return _declared(name, _own_folders()[name])


@cache
def _foreign() -> tuple[Mapping[str, TaskClass], Mapping[str, str]]:
    """Return the usable task classes of other packages, and the errors of the unusable ones."""
    usable: dict[str, TaskClass] = {}
    errors: dict[str, str] = {}
    for name in sorted(foreign_classes()):
        try:
            declared = _declared(name, _foreign_folder(name))
            usable[name] = _with_new_labels(declared, {**_own(), **usable})
        except Exception as error:  # noqa: BLE001 - code of other packages may raise anything
            place = entry_points.origin(GROUP, name)
            errors[name] = f"{place}: {str(error) or type(error).__name__}"
    return usable, errors


def _declared(name: str, folder: Path) -> TaskClass:
    """Return the task class in a folder, which must have the given name."""
    task_class = declaration.read(folder / DECLARATION)
    if task_class.name != name:
        raise ResourceError(f"{folder / DECLARATION} declares {task_class.name} instead of {name}")
    return task_class


def _with_new_labels(task_class: TaskClass, others: Mapping[str, TaskClass]) -> TaskClass:
    """Return a task class; raise an error if ``others`` have tasks with the same labels."""
    labels = {task.label: other.name for other in others.values() for task in other.tasks}
    for task in task_class.tasks:
        if task.label in labels:
            raise ResourceError(
                f"the task label {task.label} is declared by {labels[task.label]} and "
                f"{task_class.name}"
            )
        labels[task.label] = task_class.name
    return task_class


@cache
def _own_folders() -> Mapping[str, Path]:
    declared = resources.files("tasks", f"*/{DECLARATION}")
    return {path.parent.name: path.parent for path in declared}


def _foreign_folder(name: str) -> Path:
    """Return the folder given by the module of another package, which is imported to read it."""
    folder = getattr(module(name), "FOLDER", None)
    if folder is None:
        raise ResourceError(
            f"there is neither a folder tasks/{name} nor does the module name one with FOLDER"
        )
    declared = Path(folder) / DECLARATION
    if not declared.is_file():
        raise ResourceError(
            f"its package was installed without {declared}: name the folder "
            f"{declared.parent.name}/ among the files of the package and install it again"
        )
    return Path(folder)


@cache
def _own_families() -> frozenset[str]:
    """Return the names of the folders that have a judge."""
    return frozenset(name for name, folder in _own_folders().items() if (folder / JUDGE).is_file())


def successor(name: str) -> str:
    """Return the name of the task class that judges records of ``name``.

    This is usually ``name`` itself.
    """
    classes = task_classes()
    if name in classes:
        return name
    return next(
        (task_class.name for task_class in classes.values() if name in task_class.former_names),
        name,
    )


def as_successor_task(task: Task) -> Task:
    """Return ``task``, with its label and parameters, as a task of its successor class."""
    successor_class = task_class(successor(task.task_class))
    return replace(task, task_class=successor_class.name, version=successor_class.version)


def as_new_task(task: Task) -> Task:
    """Return ``task`` as a task of its successor class, with an IRI of its own, for new runs.

    A task of an undeclared class is returned unchanged.
    """
    successor_class = task_classes().get(successor(task.task_class))
    if successor_class is None or (successor_class.name, successor_class.version) == (
        task.task_class,
        task.version,
    ):
        return task
    return replace(
        as_successor_task(task), iri=task_iri(successor_class, task.label, task.parameters)
    )


def as_successor_case(case: Case) -> Case:
    """Return ``case``, with its identity and data, as a case of its successor class."""
    name = successor(case.task_class)
    return case if name == case.task_class else replace(case, task_class=name)


def renamed_metrics(task: Task, iris: Iris) -> dict[str, str]:
    """Map the recorded metric IRIs of ``task`` to the current metrics with the same names.

    The map is empty if the class has kept its name and version.
    """
    successor_class = task_class(successor(task.task_class))
    if (successor_class.name, successor_class.version) == (task.task_class, task.version):
        return {}
    return {
        iris.mint(
            "metric", task_class=task.task_class, version=task.version, name=slug(name)
        ): metric.iri
        for name, metric in successor_class.metrics.items()
    }


def agreements(name: str) -> dict[str, str]:
    """Map the names of metrics of agreement to those of the errors that they are computed from.

    They are declared (``kgb:agreementOf``) by the task class that judges records of the class
    ``name``, of any version; most classes have none.
    """
    judge = task_classes().get(successor(name))
    if judge is None:
        return {}
    names = {metric.iri: metric.name for metric in judge.metrics.values()}
    return {
        metric.name: names[metric.agreement_of]
        for metric in judge.metrics.values()
        if metric.agreement_of is not None
    }


def missing_data_key(case: Case) -> str | None:
    """Return the first key of required data that ``case`` lacks, or ``None``.

    A task module lists required keys in the attribute ``NEEDED``.
    """
    needed = getattr(module(case.task_class), "NEEDED", ())
    return next((key for key in needed if key not in case.data), None)
