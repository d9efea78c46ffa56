# SPDX-License-Identifier: Apache-2.0
"""The questions in ``queries/``: finding, describing and parametrising them.

``NAME.rq`` holds the text of a query, ``NAME.ttl`` its description. Parameters never enter the
middle of a text: they become one ``VALUES`` block of serialised terms, put where the text has the
line ``# PARAMETERS``.

>>> query = load("list-passes")
>>> [column.name for column in query.columns][:3]
['pass', 'passGraph', 'kind']
>>> "VALUES (?suite) { (<https://example.org/s>) }" in bind(query, suite="https://example.org/s")
True
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench import rdf, resources
from kgbench.errors import QueryError, ResourceError
from kgbench.vocab import DCTERMS, PREFIXES, RDF, RDFS, SCHEMA, SH, SKOS, XSD, Namespace

CSVW = Namespace("http://www.w3.org/ns/csvw#")

Value: TypeAlias = str | int | float | bool | ox.NamedNode | ox.Literal
"""One value of a parameter; text is read by the parameter's datatype."""

_MARK = re.compile(r"^[ \t]*# PARAMETERS[ \t]*$", re.MULTILINE)
_SELECT = re.compile(r"\bSELECT\b(?P<variables>.*?)\bWHERE\b", re.DOTALL)
_COLUMN = re.compile(r"\(\s*\w+\([^)]*\)\s+AS\s+\?(?P<alias>\w+)\)|\?(?P<plain>\w+)")


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A declared parameter; ``datatype`` is an XSD datatype, or ``None`` where an IRI is wanted."""

    name: str
    datatype: str | None
    optional: bool
    description: str


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A declared column of the answer."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question as ``queries/`` declares it."""

    name: str
    text: str
    label: str
    description: str
    keywords: tuple[str, ...]
    parameters: tuple[QueryParameter, ...]
    columns: tuple[QueryColumn, ...]

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


def names() -> list[str]:
    """The names of all queries, sorted."""
    return sorted(path.stem for path in resources.folder("queries").glob("*.rq"))


@cache
def digest() -> str:
    """The SHA-256 over the texts of all queries, in hex."""
    texts = "".join(f"{name}\n{resources.text('queries', f'{name}.rq')}" for name in names())
    return rdf.digest(texts)


@cache
def load(name: str) -> Query:
    """The query called ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is none, and
    :class:`~kgbench.errors.ResourceError` where its description is missing or disagrees with it.
    """
    if name not in names():
        raise QueryError(f"there is no query '{name}'; there are: {', '.join(names())}")
    text = resources.text("queries", f"{name}.rq")
    described = _Description(name)
    columns = _projected(text)
    declared = {column.name: column for column in described.columns()}
    if set(columns) != set(declared):
        raise ResourceError(
            f"queries/{name}.ttl describes the columns {sorted(declared)}, "
            f"but queries/{name}.rq answers with {sorted(columns)}"
        )
    if described.parameters() and not _MARK.search(text):
        raise ResourceError(f"queries/{name}.rq has parameters but no line '# PARAMETERS'")
    return Query(
        name=name,
        text=text,
        label=described.text(RDFS.label),
        description=described.text(DCTERMS.description),
        keywords=tuple(sorted(described.values(SCHEMA.keywords))),
        parameters=tuple(described.parameters()),
        columns=tuple(declared[name] for name in columns),
    )


def bind(query: Query, **parameters: Value | Sequence[Value] | None) -> str:
    """The text of ``query`` with ``parameters`` as its ``VALUES`` block.

    Several values of one parameter are alternatives. A parameter that is not given, or is ``None``,
    has no column in the block, which restricts it as little as ``UNDEF`` does. An empty sequence of
    alternatives matches nothing. Raises :class:`~kgbench.errors.QueryError` for a parameter that is
    unknown, missing, or not of its datatype.
    """
    known = {parameter.name: parameter for parameter in query.parameters}
    for name in parameters:
        if name not in known:
            there_are = ", ".join(known) or "none"
            raise QueryError(
                f"query '{query.name}' has no parameter '{name}'; there are: {there_are}"
            )
    columns: dict[str, list[str]] = {}
    for name, parameter in known.items():
        given = parameters.get(name)
        if given is None:
            if not parameter.optional:
                raise QueryError(f"query '{query.name}' needs a value for '{name}'")
            continue
        columns[name] = [_term(query, parameter, value) for value in _alternatives(given)]
    return _MARK.sub(lambda _: _values(columns), query.text, count=1)


def run(store: Any, name: str, **parameters: Value | Sequence[Value] | None) -> Any:
    """The answer of the store to the query called ``name``, as pyoxigraph gives it."""
    return store.query(bind(load(name), **parameters))


def rows(
    store: Any, name: str, **parameters: Value | Sequence[Value] | None
) -> list[tuple[str | None, ...]]:
    """The answer to the query called ``name`` as lexical values in the order of its columns."""
    columns = [column.name for column in load(name).columns]
    return [
        tuple(None if (term := solution[column]) is None else term.value for column in columns)
        for solution in run(store, name, **parameters)
    ]


# --- parameters -----------------------------------------------------------------------------


def _alternatives(given: Value | Sequence[Value]) -> Sequence[Value]:
    if isinstance(given, (str, int, float, bool, ox.NamedNode, ox.Literal)):
        return [given]
    return given


def _values(columns: Mapping[str, Sequence[str]]) -> str:
    if not columns:
        return ""
    variables = " ".join(f"?{name}" for name in columns)
    table = " ".join(f"({' '.join(row)})" for row in itertools.product(*columns.values()))
    return f"  VALUES ({variables}) {{ {table} }}"


def _term(query: Query, parameter: QueryParameter, value: Value) -> str:
    try:
        return _serialised(parameter, value)
    except ValueError as error:
        kind = "an IRI" if parameter.datatype is None else parameter.datatype.rpartition("#")[2]
        raise QueryError(
            f"parameter '{parameter.name}' of query '{query.name}' must be {kind}, "
            f"and {value!r} is not: {error}"
        ) from error


def _serialised(parameter: QueryParameter, value: Value) -> str:
    if parameter.datatype is None:
        if isinstance(value, (str, ox.NamedNode)):
            return rdf.iri(_expanded(value.value if isinstance(value, ox.NamedNode) else value))
        raise ValueError("it is a literal")
    if isinstance(value, ox.NamedNode):
        raise ValueError("it is an IRI")  # noqa: TRY004 - reported together with bad values
    lexical = value.value if isinstance(value, ox.Literal) else value
    return _WRITERS[parameter.datatype](lexical)


def _integer(value: str | float) -> str:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("it is no whole number")
    return rdf.integer(int(value))


def _boolean(value: str | float) -> str:
    words = {"true": True, "1": True, "false": False, "0": False}
    found = words.get(str(value).lower())
    if found is None:
        raise ValueError("neither true nor false")
    return rdf.boolean(found)


#: The datatypes that parameters may have, and how their values are written.
_WRITERS: Mapping[str, Callable[[str | float], str]] = {
    XSD.string: lambda value: rdf.string(str(value)),
    XSD.integer: _integer,
    XSD.boolean: _boolean,
}


def _expanded(value: str) -> str:
    """``value`` with a known prefix expanded: ``outcome:empty`` is an IRI that people write."""
    prefix, colon, local = value.partition(":")
    if colon and not local.startswith("//") and prefix in PREFIXES:
        return PREFIXES[prefix] + local
    return value


# --- descriptions ---------------------------------------------------------------------------


def _projected(text: str) -> list[str]:
    found = _SELECT.search(text)
    if found is None:
        return []
    return [match["alias"] or match["plain"] for match in _COLUMN.finditer(found["variables"])]


@cache
def _shared() -> ox.Store:
    """The parameters and columns, which all queries share."""
    found = ox.Store()
    for name in ("parameters.ttl", "columns.ttl"):
        found.bulk_load(path=str(resources.path("queries", name)), format=ox.RdfFormat.TURTLE)
    return found


class _Description:
    """What ``NAME.ttl`` says of a query."""

    def __init__(self, name: str) -> None:
        self._file = f"queries/{name}.ttl"
        self._graph = ox.Store()
        self._graph.bulk_load(
            path=str(resources.path("queries", f"{name}.ttl")), format=ox.RdfFormat.TURTLE
        )
        kind = ox.NamedNode(SH.SPARQLExecutable)
        found = list(self._graph.quads_for_pattern(None, ox.NamedNode(RDF.type), kind))
        if len(found) != 1:
            raise ResourceError(f"{self._file} must describe one sh:SPARQLExecutable")
        self._node = found[0].subject
        if self.text(SKOS.notation) != name:
            raise ResourceError(f"{self._file} describes '{self.text(SKOS.notation)}'")

    def _objects(self, predicate: str) -> list[Any]:
        found = self._graph.quads_for_pattern(self._node, ox.NamedNode(predicate), None)
        return [quad.object for quad in found]

    def values(self, predicate: str) -> list[str]:
        """The lexical values of a property, sorted."""
        return sorted(str(node.value) for node in self._objects(predicate))

    def text(self, predicate: str) -> str:
        """The one value of a property."""
        found = self.values(predicate)
        if len(found) != 1:
            raise ResourceError(f"{self._file} must have one value of <{predicate}>")
        return found[0]

    def parameters(self) -> list[QueryParameter]:
        """The declared parameters, by name."""
        return sorted(map(self._parameter, self._objects(SH.parameter)), key=lambda p: p.name)

    def columns(self) -> list[QueryColumn]:
        """The declared columns, in no order."""
        return [
            QueryColumn(self._one(node, CSVW.name), self._one(node, DCTERMS.description))
            for node in self._objects(CSVW.column)
        ]

    def _parameter(self, node: ox.NamedNode) -> QueryParameter:
        datatypes = _shared().quads_for_pattern(node, ox.NamedNode(SH.datatype), None)
        datatype: Any = next((quad.object for quad in datatypes), None)
        if datatype is not None and datatype.value not in _WRITERS:
            raise ResourceError(f"{self._file} uses <{node.value}>: no parameter can be {datatype}")
        return QueryParameter(
            name=self._one(node, SH.name),
            datatype=None if datatype is None else datatype.value,
            optional=self._one(node, SH.optional) == "true",
            description=self._one(node, SH.description),
        )

    def _one(self, node: ox.NamedNode, predicate: str) -> str:
        quads = _shared().quads_for_pattern(node, ox.NamedNode(predicate), None)
        found: Any = next((quad.object for quad in quads), None)
        if found is None:
            raise ResourceError(f"{self._file} uses <{node.value}>, which has no <{predicate}>")
        return str(found.value)
