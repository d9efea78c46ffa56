# SPDX-License-Identifier: Apache-2.0
"""The content of a configuration file, read from its graph after validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

import pyoxigraph as ox

from kgbench.config.graphs import PARAMETER, ConfigurationGraph, key_of, terms
from kgbench.config.trees import below
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json
from kgbench.validation.data import Term
from kgbench.vocab import RDF, XSD

_NUMBERS = {XSD.integer: int, XSD.double: float, XSD.decimal: float}


@dataclass(frozen=True, slots=True)
class Entry:
    """A task or model entry: a ``text``, or label, class, params and spec."""

    origin: ConfigurationGraph = field(repr=False, compare=False)
    pointer: str
    text: str | None = None
    label: str | None = None
    class_name: str | None = None
    spec: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    params_pointer: str = ""

    def finding(self, message: str, parameter: str | None = None) -> Finding:
        """Return a finding about this entry, or about one of its parameters."""
        position = self.pointer if parameter is None else below(self.params_pointer, parameter)
        return self.origin.finding(position, message)


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of one file; ``values`` has the single values by key, as written."""

    origin: ConfigurationGraph = field(repr=False, compare=False)
    values: Mapping[str, Json]
    sizes: tuple[int, ...]
    tasks: tuple[Entry, ...]
    models: tuple[Entry, ...]
    include: tuple[str, ...]


def read(origin: ConfigurationGraph) -> Settings:
    """Read the content of a configuration, or of an included file.

    Raises :class:`~kgbench.errors.ConfigurationError` for lists and parameter values in Turtle
    that YAML and JSON cannot represent.
    """
    values = {}
    for predicate, value in origin.statements(origin.root):
        key = key_of(predicate)
        if key not in ("tasks", "models", "sizes", "include") and predicate != RDF.type:
            values[key] = _literal(origin, value, below("", key))
    return Settings(
        origin=origin,
        values=values,
        sizes=tuple(_literal(origin, node, pointer) for node, pointer in _list(origin, "sizes")),
        tasks=tuple(_entries(origin, "tasks")),
        models=tuple(_entries(origin, "models")),
        include=tuple(node.value for node, _ in _list(origin, "include")),
    )


def _list(origin: ConfigurationGraph, key: str) -> list[tuple[Term, str]]:
    head = origin.one(origin.root, terms()[key])
    if head is None:
        return []
    members = origin.members(head)
    if members is None:
        raise _refusal(origin, below("", key), "this is not a well-formed list")
    return [(node, below(below("", key), number)) for number, node in enumerate(members)]


def _entries(origin: ConfigurationGraph, key: str) -> Iterator[Entry]:
    """Yield the entries of a list; an entry with several params objects yields one for each."""
    for node, pointer in _list(origin, key):
        if isinstance(node, ox.Literal):
            yield Entry(origin, pointer, text=node.value)
            continue
        entry = Entry(
            origin,
            pointer,
            label=_text(origin, node, "label"),
            class_name=_text(origin, node, "class"),
            spec=_text(origin, node, "spec"),
            params_pointer=below(pointer, "params"),
        )
        objects = [
            (origin.places.get(value, pointer), value)
            for predicate, value in origin.statements(node)
            if predicate == terms()["params"]
        ]
        objects.sort(key=lambda item: (len(item[0]), item[0]))
        several = len(objects) > 1
        name = entry.label or (entry.class_name if key == "tasks" else None)
        for number, (params_pointer, value) in enumerate(objects, 1):
            yield replace(
                entry,
                label=f"{name}-{number}" if several and name else entry.label,
                params=_object(origin, value, params_pointer),
                params_pointer=params_pointer,
            )
        if not objects:
            yield entry


def _text(origin: ConfigurationGraph, node: Term, key: str) -> str | None:
    value = origin.one(node, terms()[key])
    return None if value is None else value.value


def _object(origin: ConfigurationGraph, node: Term, pointer: str) -> dict[str, Json]:
    """Return the parameters of a node, by name."""
    params: dict[str, Json] = {}
    for predicate, value in origin.statements(node):
        if not predicate.startswith(PARAMETER):
            message = f"found {key_of(predicate)}; allowed: properties in <{PARAMETER}>"
            raise _refusal(origin, pointer, message)
        name = unquote(predicate.removeprefix(PARAMETER))
        position = below(pointer, name)
        if name in params:
            raise _refusal(origin, position, "found more than one value; allowed: one")
        params[name] = _json(origin, value, position)
    return params


def _json(origin: ConfigurationGraph, value: Term, pointer: str) -> Json:
    if isinstance(value, ox.Literal):
        return _literal(origin, value, pointer)
    if value.value == RDF.nil or origin.one(value, RDF.first) is not None:
        members = origin.members(value)
        if members is None:
            raise _refusal(origin, pointer, "this is not a well-formed list")
        return [_json(origin, m, below(pointer, k)) for k, m in enumerate(members)]
    return _object(origin, value, pointer)


def _literal(origin: ConfigurationGraph, value: Term, pointer: str) -> Json:
    assert isinstance(value, ox.Literal)
    datatype = value.datatype.value
    if value.language is None:
        if datatype == XSD.string:
            return value.value
        if datatype == XSD.boolean:
            return value.value in ("true", "1")
        if datatype in _NUMBERS:
            return _number(origin, value, datatype, pointer)
    message = "allowed: a text without language, a number, true or false"
    raise _refusal(origin, pointer, f"found a value of another kind; {message}")


def _number(origin: ConfigurationGraph, value: ox.Literal, datatype: str, pointer: str) -> Json:
    number: Json = _NUMBERS[datatype](value.value)
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        raise _refusal(origin, pointer, "the number is not finite")
    return number


def _refusal(origin: ConfigurationGraph, pointer: str, message: str) -> ConfigurationError:
    return ConfigurationError([origin.finding(pointer, message)])
