# SPDX-License-Identifier: Apache-2.0
"""Checking and completing the parameters of a task."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.errors import TaskError
from kgbench.model import Json, Parameter, Task, TaskClass
from kgbench.nearest import nearest
from kgbench.rdf import canonical_json, digest
from kgbench.store.iris import Iris, slug
from kgbench.tasks.formats import FORMATS, canonical_format

_TASK_DIGEST = 8  # hex digits of the parameters' digest in a task's IRI

_BOOLEANS = {"true": True, "false": False}


def labelled_task(of: TaskClass, label: str, parameters: Mapping[str, Json]) -> Task:
    """A task of class ``of`` with ``parameters`` converted, checked and completed by defaults.

    Raises :class:`~kgbench.errors.TaskError` for an unknown parameter or a value that the
    declaration does not allow.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in of.parameters:
            raise TaskError(
                f"task {label}: {of.name} has no parameter '{name}': {nearest(name, of.parameters)}"
            )
    values = {
        name: normalised(parameter, given[name], label) if name in given else parameter.default
        for name, parameter in of.parameters.items()
    }
    iri = task_iri(of, label, values)
    return Task(iri=iri, label=label, task_class=of.name, version=of.version, parameters=values)


def task_iri(of: TaskClass, label: str, parameters: Mapping[str, Json]) -> str:
    """The IRI of a task of class ``of`` with all its ``parameters``."""
    return Iris().mint(
        "task",
        task_class=of.name,
        version=of.version,
        label=slug(label),
        digest=digest(canonical_json(dict(parameters)))[:_TASK_DIGEST],
    )


def normalised(parameter: Parameter, value: Json, label: str) -> Json:
    """``value`` as the declared kind of ``parameter``; ``label`` is the task's, for the message."""
    found = _converted(parameter, value)
    if found is None:
        raise TaskError(
            f"task {label}: the parameter '{parameter.name}' must be "
            f"{_KIND_NAMES[parameter.kind]}, but is {value!r}"
        )
    if parameter.allowed and found not in parameter.allowed:
        raise TaskError(
            f"task {label}: the parameter '{parameter.name}' cannot be {value!r}: "
            f"{nearest(str(value), map(str, parameter.allowed))}"
        )
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and found < low) or (high is not None and found > high):
        raise TaskError(
            f"task {label}: the parameter '{parameter.name}' must be {range_of(parameter)}, "
            f"but is {value!r}"
        )
    return found


def range_of(parameter: Parameter) -> str:
    """The declared range in words, with the unit; empty where there is none.

    >>> range_of(Parameter("size", int, 10, minimum=3, maximum=2000, unit="persons"))
    'at least 3 and at most 2,000 persons'
    """
    ends = (("at least", parameter.minimum), ("at most", parameter.maximum))
    bounds = " and ".join(f"{word} {end:,.15g}" for word, end in ends if end is not None)
    return f"{bounds} {parameter.unit}" if bounds and parameter.unit else bounds


_KIND_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _converted(parameter: Parameter, value: Json) -> Json:
    """``value`` as the parameter's kind, or ``None`` where it is not of that kind."""
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
    # 1.5 is no whole number, however readily int() takes it.
    return number if isinstance(value, str) or number == value else None
