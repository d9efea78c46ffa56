# SPDX-License-Identifier: Apache-2.0
"""Successors of task classes, which judge records of an earlier name or version again.

Records keep their name and version. They are judged again by the current version of the class with
the same name, or of the class that declares the name as its ``skos:altLabel``; the new scores
belong to this class and version.
"""

from __future__ import annotations

from dataclasses import replace

from kgbench.model import Case, Task
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue
from kgbench.tasks.declaration import task_iri


def successor(name: str) -> str:
    """Return the name of the task class that judges records of ``name``.

    This is usually ``name`` itself.
    """
    classes = catalogue.task_classes()
    if name in classes:
        return name
    return next(
        (task_class.name for task_class in classes.values() if name in task_class.former_names),
        name,
    )


def as_successor_task(task: Task) -> Task:
    """Return ``task``, with its label and parameters, as a task of its successor class."""
    successor_class = catalogue.task_class(successor(task.task_class))
    return replace(task, task_class=successor_class.name, version=successor_class.version)


def as_new_task(task: Task) -> Task:
    """Return ``task`` as a task of its successor class, with an IRI of its own, for new runs.

    A task of an undeclared class is returned unchanged.
    """
    successor_class = catalogue.task_classes().get(successor(task.task_class))
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
    successor_class = catalogue.task_class(successor(task.task_class))
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
    judge = catalogue.task_classes().get(successor(name))
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
    needed = getattr(catalogue.module(case.task_class), "NEEDED", ())
    return next((key for key in needed if key not in case.data), None)
