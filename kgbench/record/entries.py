# SPDX-License-Identifier: Apache-2.0
"""Catalogue entries of tasks, cases, models, software and graphs."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench import rdf
from kgbench.model import Case, ModelSetup, Task
from kgbench.record import schema
from kgbench.store import declared
from kgbench.store.iris import Iris
from kgbench.tasks import catalogue
from kgbench.vocab import KGB, RDF


def registry_entry(graph: str, describes: str) -> list[str]:
    """Return the registry entry of a content graph; the store itself adds the change stamp."""
    return [
        f"<{graph}> <{RDF.type}> <{KGB.ResultGraph}> .",
        f"<{graph}> <{KGB.describes}> <{describes}> .",
    ]


def task_entry(iris: Iris, task: Task) -> list[str]:
    """Return the entry of a parametrised task: label, class and parameters.

    If another package declares the class, its declaration is included, because readers of the store
    may not have that package.
    """
    of_class = iris.mint("taskClass", task_class=task.task_class, version=task.version)
    size = task.parameters.get("size")
    is_size = type(size) is int and size > 0  # published parameters may be anything
    lines = schema.of("Task").triples(
        task.iri, task, task_class=of_class, problem_size=size if is_size else None
    )
    declaration = catalogue.foreign_declaration(task.task_class, task.version)
    return lines if declaration is None else lines + declared.foreign(declaration, iris)


def case_entry(iris: Iris, case: Case, version: str) -> list[str]:
    """Return the entry of a case with its data, which judging it again needs."""
    of_class = iris.mint("taskClass", task_class=case.task_class, version=version)
    suite = iris.mint("suite", suite=case.suite)
    return schema.of("Case").triples(case.iri, case, suite=suite, task_classes=[of_class])


def model_entry(model: ModelSetup) -> list[str]:
    """Return the entry of a model, as a software agent."""
    name = rdf.iri(model.iri).strip("<>")
    lines = schema.of("Model").triples(
        name,
        model,
        connector=model.connector or None,
        sampling={**model.options, **model.sampling} or None,
        file=model.file or None,
    )
    return [*lines, f"<{name}> <{RDF.type}> <{KGB.System}> ."] if model.is_system else lines


def software_entry(
    iri: str,
    name: str,
    version: str,
    *,
    commit: str | None = None,
    dirty: bool | None = None,
    packages: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the entry of a piece of software, with the state of its code."""
    return schema.of("Software").triples(
        iri, label=name, version=version, commit=commit, dirty=dirty, packages=packages
    )
