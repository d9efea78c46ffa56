# SPDX-License-Identifier: Apache-2.0
"""Recorded resources: their triples from values, and their values from statements.

The table of classes and fields is :data:`FILES`, the shapes that results are checked with. The
shape of a class gives its types and its fields: of each property the datatype, whether it is
required, whether it occurs once, and with ``sh:name`` the name of its value in Python. By default,
that is the local name of the property in snake case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import pyoxigraph as ox

from kgbench import rdf, resources
from kgbench.errors import ResourceError, StoreError
from kgbench.model import Json, Outcome
from kgbench.rdf.quads import Properties, Statements, by_subject
from kgbench.rdf.quads import name as name_of
from kgbench.tool_calls import ToolOutcome
from kgbench.vocab import BASE, KGB, OUTCOME, PROV, RDF, SH, TOOL_OUTCOME, XSD, compact

FILES = ("results.ttl", "catalogue.ttl")
"""The files of ``shapes/`` that describe recorded resources."""
Texts: TypeAlias = Callable[[str, list[str]], str]
"""Returns the IRI of a text and adds its description to a list."""

_Writer: TypeAlias = Callable[[str, tuple[object, ...], dict[str, Any], "Texts | None"], list[str]]
_BEFORE_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Source(Protocol):
    """A source of statements."""

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of the property ``name`` of ``subject`` (IRIs), if it has one."""


def required(source: Source, subject: str, name: str) -> str:
    """Return the value of a mandatory property.

    Raises :class:`~kgbench.errors.StoreError` if it is missing.
    """
    value = source.value(subject, name)
    if value is None:
        raise StoreError(f"<{subject}> has no {name}: the store is damaged")
    return value


def required_number(source: Source, subject: str, name: str) -> int:
    """Return the value of a mandatory property that is a whole number.

    Raises :class:`~kgbench.errors.StoreError` if it is missing or another value.
    """
    text = required(source, subject, name)
    try:
        return int(text)
    except ValueError:
        raise _damaged(subject, name, text) from None


def _damaged(subject: str, name: str, text: str) -> StoreError:
    return StoreError(f"<{subject}> has the {name} '{text[:60]}': the store is damaged")


class Kind(NamedTuple):
    """How values are written as RDF terms, and read from the text of terms."""

    write: Callable[[Any], str]
    read: Callable[[str], Any] = str


class Field(NamedTuple):
    """A property of a class: its IRI, and how values are written and read.

    A field ``of_text`` has a text, which is a resource of its own. The ``default`` is the value of
    a resource without the property.
    """

    property: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]
    is_required: bool
    is_single: bool
    of_text: bool
    default: Any = None


class Class:
    """A class of recorded resources, with its types (IRIs) and its fields by name."""

    def __init__(self, name: str, types: tuple[str, ...], fields: dict[str, Field]) -> None:
        self.name = name
        self.types = types
        self.fields = fields
        self._writers: dict[tuple[object, ...], _Writer] = {}

    def triples(
        self, iri: str, *about: object, texts: Texts | None = None, **values: Any
    ) -> list[str]:
        """Return the description of a resource (IRI) as lines of N-Triples.

        Each value is given by name, or is an attribute of the first object in ``about`` that has
        it; ``None`` is left out. ``texts`` is needed for texts. Raises :class:`TypeError` if a
        value is missing or unknown, and :class:`ValueError` if one should be an IRI and is not.
        """
        key = (*map(type, about), *values)
        write = self._writers.get(key)
        if write is None:
            write = self._writers[key] = self._writer(about, values)
        return write(f"<{iri}>", about, values, texts)

    def facts(self, iri: str, **values: Any) -> list[str]:
        """Return a part of the description, without types; no value may be a text."""
        lines = []
        for name, value in values.items():
            field = self.fields[name]
            found = (value,) if field.is_single else value
            lines += [f"<{iri}> <{field.property}> {field.write(one)} ." for one in found]
        return lines

    def _writer(self, about: tuple[object, ...], values: dict[str, Any]) -> _Writer:
        """Return a function that writes descriptions from arguments of the same types.

        Its source is generated, because a loop over the fields takes twice as long. Names are
        identifiers, and IRIs have no quotation marks, braces and backslashes.
        """
        if unknown := values.keys() - self.fields.keys():
            raise TypeError(f"{self.name} has no {', '.join(unknown)}")
        types = (f'f"{{node}} <{RDF.type}> <{kind}> ."' for kind in self.types)
        source = ["def write(node, about, values, texts):", f"lines = [{', '.join(types)}]"]
        scope: dict[str, Any] = {}
        for name, field in self.fields.items():
            places = [f'values["{name}"]'] if name in values else []
            places += (f"about[{k}].{name}" for k, one in enumerate(about) if hasattr(one, name))
            if not places and not field.is_required:
                continue
            scope[f"write_{name}"], scope[f"default_{name}"] = field.write, field.default
            term = f"{{write_{name}(one)}}"
            if field.of_text or field.write is _MINTED.write:
                term = "<{texts(one, lines)}>" if field.of_text else "<{one}>"
            differs = "" if field.default is None else f" and one != default_{name}"
            add = f'lines.append(f"{{node}} <{field.property}> {term} .")'
            source += [
                f"one = {places[0] if places else None}",
                f"if one is not None{differs}:",
                f"    {add}" if field.is_single else f"    for one in one: {add}",
            ]
            if field.is_required:
                source.append(f'else: raise TypeError("{self.name} needs {name}")')
        exec("\n    ".join([*source, "return lines"]), scope)  # noqa: S102 - of our own shapes
        writer: _Writer = scope["write"]
        return writer

    def read(self, source: Source, iri: str, kind: Any) -> dict[str, Any]:
        """Return the values of a resource (IRI) that are also attributes of ``kind``, a class.

        Raises :class:`~kgbench.errors.StoreError` for a value that is missing or cannot be read.
        """
        said = {}
        for name in self.fields.keys() & set(kind.__match_args__):
            field = self.fields[name]
            find = partial(required, source) if field.is_required else source.value
            text = find(iri, field.property)
            if text is None:
                said[name] = field.default
            elif field.of_text:
                said[name] = text_of(source, text)
            else:
                try:
                    said[name] = field.read(text)
                except ValueError:
                    raise _damaged(iri, field.property, text) from None
        return said


def text_of(source: Source, text: str) -> str:
    """Return the content of a text (IRI), or what stands for one that was left out."""
    value = source.value(text, PROV.value)
    if value is None:
        return LEFT_OUT
    return rdf.original_text(value, source.value(text, KGB.originalBytes))


@cache
def of(shape: str) -> Class:
    """Return the class that the shape with this name describes."""
    statements = _statements()
    types: tuple[str, ...] = ()
    fields: dict[str, Field] = {}
    for node in statements[f"{BASE}shapes/{shape}"][SH.property]:
        said = statements[name_of(node)]
        (path,) = said[SH.path]
        if path.value == RDF.type:
            types = tuple(kind.value for kind in said[SH.hasValue])
        elif isinstance(path, ox.NamedNode):  # others are constraints on paths
            name = _name(said, path.value)
            field = fields.setdefault(name, _field(said, path.value))
            if field.property != path.value or not name.isidentifier():
                raise ResourceError(f"the shape {shape} cannot call {compact(path.value)} '{name}'")
    return Class(shape, types, fields)


@cache
def texts() -> tuple[str, ...]:
    """Return the properties whose values are texts."""
    classes = map(of, ("Prompt", "Answer", "ToolCall", "ToolResult"))
    fields = (field for known in classes for field in known.fields.values())
    return tuple({field.property: None for field in fields if field.of_text})


@cache
def _statements() -> Statements:
    return by_subject(
        quad
        for file in FILES
        for quad in ox.parse(
            resources.text("shapes", file), ox.RdfFormat.TURTLE, rename_blank_nodes=True
        )
    )


def _name(said: Properties, path: str) -> str:
    if SH.name in said:
        return str(said[SH.name][0].value)
    local = path.rpartition("#")[2].rpartition("/")[2]
    return _BEFORE_CAPITAL.sub("_", local).lower()


def _field(said: Properties, path: str) -> Field:
    kind = _kind(said)
    return Field(
        property=path,
        write=kind.write,
        read=kind.read,
        is_required=int(said[SH.minCount][0].value) > 0 if SH.minCount in said else False,
        is_single=SH.maxCount in said and said[SH.maxCount][0].value == "1",
        of_text=ox.NamedNode(KGB.Text) in said.get(SH["class"], ()),
        default=kind.read(said[SH.defaultValue][0].value) if SH.defaultValue in said else None,
    )


def _kind(said: Properties) -> Kind:
    if SH.datatype in said:
        return _KINDS[said[SH.datatype][0].value]
    if SH["in"] in said:
        first = _statements()[name_of(said[SH["in"]][0])][RDF.first][0].value
        return next((kind for space, kind in _CONCEPTS.items() if first.startswith(space)), _IRI)
    return _MINTED if SH["class"] in said else _IRI


def _concept(space: str, kind: Callable[[str], Any]) -> Kind:
    return Kind(lambda value: f"<{space}{value}>", lambda iri: kind(iri.removeprefix(space)))


def _typed(datatype: str) -> Kind:
    """Return the kind of values that are text in Python, too, without characters to escape."""
    return Kind(lambda value: f'"{value}"^^<{datatype}>')


def _string(value: str) -> str:
    return rdf.string(value if value.isascii() else rdf.storable(value).value)


def _object(text: str) -> dict[str, Json]:
    """Parse JSON; what was imported may be no object, and gives none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


_IRI = Kind(rdf.iri)
_MINTED = Kind(lambda iri: f"<{iri}>")  # of another recorded resource: kgbench made it
_CONCEPTS = {
    OUTCOME: _concept(OUTCOME, Outcome),
    TOOL_OUTCOME: _concept(TOOL_OUTCOME, ToolOutcome),
}
_KINDS = {
    XSD.string: Kind(_string),
    XSD.integer: Kind(rdf.integer, int),
    XSD.double: Kind(rdf.double, float),
    XSD.boolean: Kind(rdf.boolean),
    XSD.dateTime: Kind(rdf.moment, datetime.fromisoformat),
    RDF.JSON: Kind(lambda value: rdf.json_literal(dict(value)), _object),
    **{datatype: _typed(datatype) for datatype in (XSD.decimal, XSD.date, XSD.base64Binary)},
}


class Withheld(str):
    """Stands in a dialogue for a text that was left out; its content is what readers show instead.

    >>> isinstance(LEFT_OUT, str)
    True
    """

    __slots__ = ()


LEFT_OUT: Final = Withheld("[the text was left out]")


def disclosed(text: str | None) -> str | None:
    """Return ``text``, or ``None`` if it was left out or is missing."""
    return None if isinstance(text, Withheld) else text
