# SPDX-License-Identifier: Apache-2.0
"""What one configuration file says, read from its graph after the shapes have accepted it."""

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
    """One task or model of a configuration: a ``text``, or label, class, params and spec."""

    origin: ConfigurationGraph = field(repr=False, compare=False)
    pointer: str
    text: str | None = None
    label: str | None = None
    class_name: str | None = None
    spec: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    params_pointer: str = ""

    def finding(self, message: str, parameter: str | None = None) -> Finding:
        """A finding about this entry, or about one of its parameters."""
        place = self.pointer if parameter is None else below(self.params_pointer, parameter)
        return self.origin.finding(place, message)


@dataclass(frozen=True, slots=True)
class Settings:
    """The contents of one file. ``values`` has the single values by key, as written."""

    origin: ConfigurationGraph = field(repr=False, compare=False)
    values: Mapping[str, Json]
    sizes: tuple[int, ...]
    tasks: tuple[Entry, ...]
    models: tuple[Entry, ...]
    include: tuple[str, ...]


def read(origin: ConfigurationGraph) -> Settings:
    """The contents of a configuration, or of a part that is included.

    Raises :class:`~kgbench.errors.ConfigurationError` for lists and parameter values in Turtle
    that YAML and JSON cannot write.
    """
    values = {}
    for predicate, value in origin.statements(origin.root):
        key = key_of(predicate)
        if key not in ("tasks", "models", "sizes", "include") and predicate != RDF.type:
            values[key] = _literal(origin, value, below("", key))
    return Settings(
        origin=origin,
        values=values,
        sizes=tuple(_literal(origin, each, place) for each, place in _list(origin, "sizes")),
        tasks=tuple(_entries(origin, "tasks")),
        models=tuple(_entries(origin, "models")),
        include=tuple(each.value for each, _ in _list(origin, "include")),
    )


def _list(origin: ConfigurationGraph, key: str) -> list[tuple[Term, str]]:
    head = origin.one(origin.root, terms()[key])
    if head is None:
        return []
    members = origin.members(head)
    if members is None:
        raise _refusal(origin, below("", key), "this is not a well-formed list")
    return [(each, below(below("", key), number)) for number, each in enumerate(members)]


def _entries(origin: ConfigurationGraph, key: str) -> Iterator[Entry]:
    """The entries of a list: one for each object among the params of one that is written."""
    for node, pointer in _list(origin, key):
        if isinstance(node, ox.Literal):
            yield Entry(origin, pointer, text=node.value)
            continue
        written = Entry(
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
        objects.sort(key=lambda one: (len(one[0]), one[0]))
        several = len(objects) > 1
        name = written.label or (written.class_name if key == "tasks" else None)
        for number, (place, value) in enumerate(objects, 1):
            yield replace(
                written,
                label=f"{name}-{number}" if several and name else written.label,
                params=_object(origin, value, place),
                params_pointer=place,
            )
        if not objects:
            yield written


def _text(origin: ConfigurationGraph, node: Term, key: str) -> str | None:
    found = origin.one(node, terms()[key])
    return None if found is None else found.value


def _object(origin: ConfigurationGraph, node: Term, pointer: str) -> dict[str, Json]:
    """The parameters of a node, by name."""
    found: dict[str, Json] = {}
    for predicate, value in origin.statements(node):
        if not predicate.startswith(PARAMETER):
            message = f"found {key_of(predicate)}; allowed: properties in <{PARAMETER}>"
            raise _refusal(origin, pointer, message)
        name = unquote(predicate.removeprefix(PARAMETER))
        place = below(pointer, name)
        if name in found:
            raise _refusal(origin, place, "found more than one value; allowed: one")
        found[name] = _json(origin, value, place)
    return found


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
