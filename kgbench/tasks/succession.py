# SPDX-License-Identifier: Apache-2.0
"""Which task class judges what was recorded under an earlier name or version of it.

What was recorded keeps its name and version. Judged again, it is judged by the class of the same
name, or by the one that declares the name as its ``skos:altLabel``, in the version that there is;
the new scores are those of that class and version.
"""

from __future__ import annotations

from dataclasses import replace

from kgbench.model import Case, Task
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue
from kgbench.tasks.parameters import task_iri


def successor(name: str) -> str:
    """The name of the task class that judges what was recorded as ``name``; often itself."""
    classes = catalogue.task_classes()
    if name in classes:
        return name
    return next((one.name for one in classes.values() if name in one.former_names), name)


def judged_as(task: Task) -> Task:
    """``task``, with its label and parameters, as one of the class that judges it today."""
    found = catalogue.task_class(successor(task.task_class))
    return replace(task, task_class=found.name, version=found.version)


def asked_as(task: Task) -> Task:
    """``task`` as one that is asked anew: of the class that judges it today, with its own IRI.

    A task of a class that is not declared stays as it is.
    """
    found = catalogue.task_classes().get(successor(task.task_class))
    if found is None or (found.name, found.version) == (task.task_class, task.version):
        return task
    return replace(judged_as(task), iri=task_iri(found, task.label, task.parameters))


def case_judged_as(case: Case) -> Case:
    """``case``, with its identity and data, as one of the class that judges it today."""
    name = successor(case.task_class)
    return case if name == case.task_class else replace(case, task_class=name)


def renamed_metrics(task: Task, iris: Iris) -> dict[str, str]:
    """The metrics that ``task`` was recorded with -> those of the same names that it now gets.

    Empty where the class has neither another name nor another version than it was recorded with.
    """
    found = catalogue.task_class(successor(task.task_class))
    if (found.name, found.version) == (task.task_class, task.version):
        return {}
    return {
        iris.mint(
            "metric", task_class=task.task_class, version=task.version, name=slug(name)
        ): metric.iri
        for name, metric in found.metrics.items()
    }


def lacking(case: Case) -> str | None:
    """Which of the data that its judge cannot do without a case lacks; ``None`` where none.

    A module names them with the attribute ``NEEDED``.
    """
    needed = getattr(catalogue.module(case.task_class), "NEEDED", ())
    return next((key for key in needed if key not in case.data), None)
