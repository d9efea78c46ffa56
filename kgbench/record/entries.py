# SPDX-License-Identifier: Apache-2.0
"""Catalogue entries of tasks, cases, models, software and graphs."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.model import Case, ModelSetup, Task
from kgbench.rdf import boolean, integer, iri, json_literal, storable, string
from kgbench.record import terms as t
from kgbench.store import declared
from kgbench.store.iris import Iris
from kgbench.tasks import catalogue


def registry_entry(graph: str, describes: str) -> list[str]:
    """Return the registry entry of a content graph; the store itself adds the change stamp."""
    return [
        f"<{graph}> {t.TYPE} {t.RESULT_GRAPH} .",
        f"<{graph}> {t.DESCRIBES} <{describes}> .",
    ]


def task_entry(iris: Iris, task: Task) -> list[str]:
    """Return the entry of a parametrised task: label, class and parameters.

    If another package declares the class, its declaration is included, because readers of the store
    may not have that package.
    """
    node = f"<{task.iri}>"
    of_class = iris.mint("taskClass", task_class=task.task_class, version=task.version)
    lines = [
        f"{node} {t.TYPE} {t.TASK} .",
        f"{node} {t.NOTATION} {string(task.label)} .",
        f"{node} {t.TASK_CLASS_P} <{of_class}> .",
        f"{node} {t.PARAMETERS} {json_literal(dict(task.parameters))} .",
    ]
    size = task.parameters.get("size")
    if type(size) is int and size > 0:  # published parameters may be anything
        lines.append(f"{node} {t.PROBLEM_SIZE} {integer(size)} .")
    declaration = catalogue.foreign_declaration(task.task_class, task.version)
    return lines if declaration is None else lines + declared.foreign(declaration, iris)


def case_entry(iris: Iris, case: Case, version: str) -> list[str]:
    """Return the entry of a case with its data, which judging it again needs."""
    node = f"<{case.iri}>"
    of_class = iris.mint("taskClass", task_class=case.task_class, version=version)
    lines = [
        f"{node} {t.TYPE} {t.CASE} .",
        f"{node} {t.SUITE_P} <{iris.mint('suite', suite=case.suite)}> .",
        f"{node} {t.TASK_CLASS_P} <{of_class}> .",
        f"{node} {t.DIGEST} {string(case.digest)} .",
        f"{node} {t.PARAMETERS} {json_literal(dict(case.parameters))} .",
        f"{node} {t.CASE_DATA} {json_literal(dict(case.data))} .",
    ]
    if case.uid is not None:
        lines.append(f"{node} {t.NOTATION} {string(storable(case.uid).value)} .")
    return lines


def model_entry(model: ModelSetup) -> list[str]:
    """Return the entry of a model, as a software agent."""
    node = iri(model.iri)
    lines = [
        f"{node} {t.TYPE} {t.MODEL} .",
        f"{node} {t.TYPE} {t.SOFTWARE_AGENT} .",
        f"{node} {t.LABEL} {string(model.label)} .",
        f"{node} {t.NOTATION} {string(model.model_id)} .",
    ]
    if model.is_system:
        lines.append(f"{node} {t.TYPE} {t.SYSTEM} .")
    if model.connector:
        lines.append(f"{node} {t.CONNECTOR} {string(model.connector)} .")
    if model.base_url is not None:
        lines.append(f"{node} {t.BASE_URL} {string(model.base_url)} .")
    if model.sampling or model.options:
        asked = {**model.options, **model.sampling}
        lines.append(f"{node} {t.SAMPLING} {json_literal(asked)} .")
    if model.file:
        lines.append(f"{node} {t.MODEL_FILE} {json_literal(dict(model.file))} .")
    return lines


def software_entry(
    node_iri: str,
    name: str,
    version: str,
    *,
    commit: str | None = None,
    dirty: bool | None = None,
    packages: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the entry of a piece of software, with the state of its code."""
    node = f"<{node_iri}>"
    lines = [
        f"{node} {t.TYPE} {t.SOFTWARE_AGENT} .",
        f"{node} {t.LABEL} {string(name)} .",
        f"{node} {t.SOFTWARE_VERSION} {string(version)} .",
    ]
    if commit is not None:
        lines.append(f"{node} {t.COMMIT} {string(commit)} .")
    if dirty is not None:
        lines.append(f"{node} {t.DIRTY} {boolean(dirty)} .")
    if packages is not None:
        lines.append(f"{node} {t.PACKAGES} {json_literal(dict(packages))} .")
    return lines
