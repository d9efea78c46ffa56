# SPDX-License-Identifier: Apache-2.0
"""Reading what a ``task.ttl`` declares: one task class with its parameters, metrics and tasks."""

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
    """The task class that the Turtle file at ``path`` declares.

    Raises :class:`~kgbench.errors.ResourceError`, naming the file, where it does not parse, does
    not declare exactly one task class, or leaves out what a task class must have.
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
    rounds = declared.needed(node, KGB.maxRounds, int)
    if rounds > 1 and metrics[main_name].aggregation is None:
        raise ValueError(
            f"the main metric {main_name} is a score of each round, but a dialogue has up to "
            f"{rounds}: name an aggregate such as max_{main_name}"
        )
    found = TaskClass(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.softwareVersion),
        metrics=metrics,
        parameters={p.name: p for p in _parameters(declared, node)},
        max_rounds=rounds,
        main_metric=main_name,
        former_names=tuple(declared.texts(node, SKOS.altLabel)),
    )
    tasks = (labelled_task(found, label, settings) for label, settings in _labelled(declared, node))
    return replace(found, tasks=tuple(tasks))


def _parameters(declared: Declared, node: ox.NamedNode) -> list[Parameter]:
    found = []
    for each in declared.objects(node, KGB.parameter):
        datatype = declared.required(each, SH.datatype)
        if datatype not in KINDS:
            raise ValueError(f"a parameter has the datatype {datatype}, which has no Python type")
        allowed = sorted(declared.values(each, KGB.allowedValue))
        found.append(
            Parameter(
                name=declared.required(each, KGB.parameterName),
                kind=KINDS[datatype],
                default=declared.required_value(each, KGB.defaultValue),
                allowed=tuple(allowed),
                minimum=declared.value(each, SCHEMA.minValue),
                maximum=declared.value(each, SCHEMA.maxValue),
                unit=declared.value(each, SCHEMA.unitText),
            )
        )
    return sorted(found, key=lambda parameter: parameter.name)


def _labelled(declared: Declared, node: ox.NamedNode) -> list[tuple[str, Mapping[str, Json]]]:
    found = []
    for each in declared.objects(node, KGB.labelledTask):
        settings = {
            declared.required(s, KGB.parameterName): declared.required_value(s, KGB.parameterValue)
            for s in declared.objects(each, KGB.setting)
        }
        found.append((declared.required(each, SKOS.notation), settings))
    return sorted(found, key=lambda item: item[0])
