# SPDX-License-Identifier: Apache-2.0
"""Reader of ``task.ttl``, which declares a task class with its parameters, metrics and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox

from kgbench.errors import ResourceError, TaskError
from kgbench.model import Json, Parameter, TaskClass
from kgbench.rdf.declared import KINDS, Declared
from kgbench.rdf.metrics import metrics_of
from kgbench.tasks.parameters import labelled_task
from kgbench.vocab import KGB, SCHEMA, SH, SKOS


def read(path: Path) -> TaskClass:
    """Read the task class that the Turtle file at ``path`` declares.

    Raises :class:`~kgbench.errors.ResourceError`, with the path, if the file does not parse, does
    not declare exactly one task class, or lacks a required property.
    """
    try:
        return _task_class(Declared(path))
    except (ValueError, TaskError) as error:
        raise ResourceError(f"{path} does not declare a task class: {error}") from error


def _task_class(declared: Declared) -> TaskClass:
    node = declared.only(KGB.TaskClass)
    metrics = metrics_of(declared, node)
    main = declared.required(node, KGB.mainMetric)
    main_name = next((m.name for m in metrics.values() if m.iri == main), None)
    if main_name is None:
        raise ValueError(f"the main metric {main} is not among its metrics")
    rounds = declared.required_as(node, KGB.maxRounds, int)
    if rounds > 1 and metrics[main_name].aggregation is None:
        raise ValueError(
            f"the main metric {main_name} is a score of each round, but a dialogue has up to "
            f"{rounds}: name an aggregate such as max_{main_name}"
        )
    task_class = TaskClass(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.softwareVersion),
        metrics=metrics,
        parameters={p.name: p for p in _parameters(declared, node)},
        max_rounds=rounds,
        main_metric=main_name,
        former_names=tuple(declared.texts(node, SKOS.altLabel)),
    )
    tasks = (
        labelled_task(task_class, label, settings)
        for label, settings in _labelled_settings(declared, node)
    )
    return replace(task_class, tasks=tuple(tasks))


def _parameters(declared: Declared, node: ox.NamedNode) -> list[Parameter]:
    parameters = []
    for parameter_node in declared.objects(node, KGB.parameter):
        datatype = declared.required(parameter_node, SH.datatype)
        if datatype not in KINDS:
            raise ValueError(f"a parameter has the datatype {datatype}, which has no Python type")
        allowed = sorted(declared.values(parameter_node, KGB.allowedValue))
        parameters.append(
            Parameter(
                name=declared.required(parameter_node, KGB.parameterName),
                kind=KINDS[datatype],
                default=declared.required_value(parameter_node, KGB.defaultValue),
                allowed=tuple(allowed),
                minimum=declared.value(parameter_node, SCHEMA.minValue),
                maximum=declared.value(parameter_node, SCHEMA.maxValue),
                unit=declared.value(parameter_node, SCHEMA.unitText),
            )
        )
    return sorted(parameters, key=lambda parameter: parameter.name)


def _labelled_settings(
    declared: Declared, node: ox.NamedNode
) -> list[tuple[str, Mapping[str, Json]]]:
    labelled = []
    for task_node in declared.objects(node, KGB.labelledTask):
        settings = {
            declared.required(setting, KGB.parameterName): declared.required_value(
                setting, KGB.parameterValue
            )
            for setting in declared.objects(task_node, KGB.setting)
        }
        labelled.append((declared.required(task_node, SKOS.notation), settings))
    return sorted(labelled, key=lambda item: item[0])
