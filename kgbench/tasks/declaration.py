# SPDX-License-Identifier: Apache-2.0
"""Reader of ``task.ttl``, which declares a task class with its parameters, metrics and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox

from kgbench.errors import ResourceError, TaskError, nearest
from kgbench.model import Json, Parameter, Task, TaskClass
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.declared import KINDS, Declared, metrics_of
from kgbench.store.iris import Iris, slug
from kgbench.tasks.serialising import FORMATS, canonical_format
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


_TASK_DIGEST = 8  # hex digits of the parameters' digest in a task's IRI

_BOOLEANS = {"true": True, "false": False}


def labelled_task(task_class: TaskClass, label: str, parameters: Mapping[str, Json]) -> Task:
    """Make a task with ``parameters`` converted, checked and completed by defaults.

    Raises :class:`~kgbench.errors.TaskError` for an unknown parameter or a value that the
    declaration does not allow.
    """
    given_values = {name: value for name, value in parameters.items() if value is not None}
    for name in given_values:
        if name not in task_class.parameters:
            raise TaskError(
                f"task {label}: {task_class.name} has no parameter '{name}': "
                f"{nearest(name, task_class.parameters)}"
            )
    values = {
        name: normalised(parameter, given_values[name], label)
        if name in given_values
        else parameter.default
        for name, parameter in task_class.parameters.items()
    }
    iri = task_iri(task_class, label, values)
    return Task(
        iri=iri,
        label=label,
        task_class=task_class.name,
        version=task_class.version,
        parameters=values,
    )


def task_iri(task_class: TaskClass, label: str, parameters: Mapping[str, Json]) -> str:
    """Return the IRI of a task of ``task_class`` with all its ``parameters``."""
    return Iris().mint(
        "task",
        task_class=task_class.name,
        version=task_class.version,
        label=slug(label),
        digest=digest(canonical_json(dict(parameters)))[:_TASK_DIGEST],
    )


def normalised(parameter: Parameter, value: Json, label: str) -> Json:
    """Convert ``value`` to the declared kind of ``parameter``; ``label`` is for error messages."""
    converted = _convert(parameter, value)
    if converted is None:
        raise TaskError(
            f"task {label}: the parameter '{parameter.name}' must be "
            f"{_KIND_NAMES[parameter.kind]}, but is {value!r}"
        )
    if parameter.allowed and converted not in parameter.allowed:
        raise TaskError(
            f"task {label}: the parameter '{parameter.name}' cannot be {value!r}: "
            f"{nearest(str(value), map(str, parameter.allowed))}"
        )
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and converted < low) or (high is not None and converted > high):
        raise TaskError(
            f"task {label}: the parameter '{parameter.name}' must be {range_of(parameter)}, "
            f"but is {value!r}"
        )
    return converted


def range_of(parameter: Parameter) -> str:
    """Return the declared range in words, with the unit; empty if there is no range.

    >>> range_of(Parameter("size", int, 10, minimum=3, maximum=2000, unit="persons"))
    'at least 3 and at most 2,000 persons'
    """
    ends = (("at least", parameter.minimum), ("at most", parameter.maximum))
    bounds = " and ".join(f"{word} {end:,.15g}" for word, end in ends if end is not None)
    return f"{bounds} {parameter.unit}" if bounds and parameter.unit else bounds


_KIND_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _convert(parameter: Parameter, value: Json) -> Json:
    """Return ``value`` converted to the parameter's kind, or ``None`` if that is impossible."""
    if parameter.kind is str:
        return _as_text(parameter, value)
    if parameter.kind is bool:
        return value if isinstance(value, bool) else _BOOLEANS.get(str(value).lower())
    if isinstance(value, bool):
        return None
    return _as_number(parameter.kind, value)


def _as_text(parameter: Parameter, value: Json) -> str | None:
    if not isinstance(value, str):
        return None
    if value in parameter.allowed or not set(parameter.allowed) & set(FORMATS):
        return value
    return canonical_format(value)


def _as_number(kind: type, value: Json) -> Json:
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    # int() truncates 1.5, which is not a whole number.
    return number if isinstance(value, str) or number == value else None
