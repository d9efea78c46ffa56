# SPDX-License-Identifier: Apache-2.0
"""The queries in ``queries/``: their texts, descriptions and parameters.

``NAME.rq`` has the text of a query, ``NAME.ttl`` its description. Parameters are never inserted
into the text itself: they become one ``VALUES`` block of serialised terms, which replaces the line
``# PARAMETERS``.

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
from kgbench.characters import BOM
from kgbench.errors import QueryError, ResourceError, nearest
from kgbench.rdf.declared import Declared
from kgbench.rdf.query_text import explain_error, with_known_prefixes
from kgbench.vocab import CSVW, DCTERMS, PREFIXES, RDFS, SCHEMA, SH, SKOS, XSD

Value: TypeAlias = str | int | float | bool | ox.NamedNode | ox.Literal
"""A value of a parameter; strings are parsed according to the parameter's datatype."""

_MARK = re.compile(r"^[ \t]*# PARAMETERS[ \t]*$", re.MULTILINE)
_SELECT = re.compile(r"\bSELECT\b(?P<variables>.*?)\bWHERE\b", re.DOTALL)
_COLUMN = re.compile(
    r"\(\s*\w+\((?:[^()]|\([^()]*\))*\)\s+AS\s+\?(?P<alias>\w+)\)|\?(?P<plain>\w+)"
)


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A declared parameter; ``datatype`` is an XSD datatype, or ``None`` for IRIs."""

    name: str
    datatype: str | None
    optional: bool
    description: str


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A declared column of the result."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query declared in ``queries/``."""

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


@cache
def names() -> tuple[str, ...]:
    """Return the names of all queries, sorted."""
    return tuple(sorted(path.stem for path in resources.files("queries", "*.rq")))


@cache
def constructs() -> tuple[str, ...]:
    """Return the names of the CONSTRUCT queries that make the metadata of publications."""
    return tuple(f"publish/{path.stem}" for path in resources.files("queries", "publish/*.rq"))


@cache
def digest() -> str:
    """Return the SHA-256 of the texts of all queries, in hex."""
    texts = "".join(f"{name}\n{resources.text('queries', f'{name}.rq')}" for name in names())
    return rdf.digest(texts)


@cache
def by_topic() -> tuple[tuple[str, tuple[Query, ...]], ...]:
    """Return all queries below the headings of ``queries/topics.ttl``, in its order.

    A query is below the first heading that has one of its keywords.
    """
    declared = Declared(resources.path("queries", "topics.ttl"))
    topics = declared.instances(SKOS.Concept)
    left = {name: load(name) for name in names()}
    found = []
    for topic in sorted(topics, key=lambda each: declared.required_as(each, SH.order, int)):
        words = set(declared.texts(topic, SCHEMA.keywords))
        chosen = [name for name, query in left.items() if words & set(query.keywords)]
        found.append((declared.required(topic, RDFS.label), tuple(map(left.pop, chosen))))
    return tuple(found)


@cache
def load(name: str) -> Query:
    """Load the query called ``name``.

    Raises :class:`~kgbench.errors.QueryError` if there is none, and
    :class:`~kgbench.errors.ResourceError` if its description is missing or contradicts its text.
    """
    if name not in (*names(), *constructs()):
        raise QueryError(f"there is no query '{name}': {nearest(name, names())}")
    text = resources.text("queries", *f"{name}.rq".split("/"))
    description = _Description(name)
    columns = [] if name in constructs() else _projected(text)
    declared = {column.name: column for column in description.columns()}
    if set(columns) != set(declared):
        raise ResourceError(
            f"queries/{name}.ttl describes the columns {sorted(declared)}, "
            f"but queries/{name}.rq has the columns {sorted(columns)}"
        )
    if description.parameters() and not _MARK.search(text):
        raise ResourceError(f"queries/{name}.rq has parameters but no line '# PARAMETERS'")
    return Query(
        name=name,
        text=text,
        label=description.text(RDFS.label),
        description=description.text(DCTERMS.description),
        keywords=tuple(sorted(description.values(SCHEMA.keywords))),
        parameters=tuple(description.parameters()),
        columns=tuple(declared[name] for name in columns),
    )


class BoundQuery(str):
    """The text of a query with its parameters; ``name`` is the name of the query."""

    __slots__ = ("name",)
    name: str


def bind(query: Query, **parameters: Value | Sequence[Value] | None) -> BoundQuery:
    """Return the text of ``query`` with ``parameters`` as its ``VALUES`` block.

    Several values of a parameter are alternatives. A parameter that is missing or ``None`` has no
    column in the block, which has the same effect as ``UNDEF``. An empty sequence of alternatives
    matches nothing. Raises :class:`~kgbench.errors.QueryError` for a parameter that is unknown,
    missing although required, or not of its datatype.
    """
    columns = _columns(query, parameters)
    text = BoundQuery(_MARK.sub(lambda _: _values(columns), query.text, count=1))
    text.name = query.name
    return text


def compact(
    query: Query, max_values: int | None = None, **parameters: Value | Sequence[Value] | None
) -> str:
    """Return a readable text of ``query``: no comments, one ``VALUES`` block per parameter.

    It is equivalent to the result of :func:`bind`, but its size grows with the sum of the numbers
    of values, not with their product. A parameter with more than ``max_values`` becomes a comment
    with their number. Raises the errors of :func:`bind`.
    """
    lines = []
    for name, values in _columns(query, parameters).items():
        if max_values is not None and len(values) > max_values:
            lines.append(f"  # ?{name}: one of {len(values)} values, not shown")
        else:
            lines.append(f"  VALUES ?{name} {{ {' '.join(values)} }}")
    shown = (line for line in query.text.splitlines() if not line.startswith("#"))
    return _MARK.sub(lambda _: "\n".join(lines), "\n".join(shown), count=1) + "\n"


def run(store: Any, name: str, **parameters: Value | Sequence[Value] | None) -> Any:
    """Execute the query called ``name`` on a store, and return pyoxigraph's result."""
    return store.query(bind(load(name), **parameters))


def ask(store: Any, text: str, *, prefixed: bool = True) -> Any:
    """Execute any query on a store, and return pyoxigraph's result.

    With ``prefixed``, known prefixes need no declaration; those in the text override them. Raises
    :class:`~kgbench.errors.QueryError`, with the position of a syntax error.
    """
    text = text.removeprefix(BOM)
    query = with_known_prefixes(text) if prefixed else text
    try:
        return store.query(query)
    except QueryError as error:
        preamble = query.removesuffix(text)
        raise QueryError(explain_error(text, str(error), preamble=preamble)) from error


def construct(store: Any, name: str, **parameters: Value | Sequence[Value] | None) -> list[ox.Quad]:
    """Return what the CONSTRUCT query called ``name`` makes of a store, in the default graph."""
    return [ox.Quad(*triple) for triple in run(store, name, **parameters)]


def rows(
    store: Any, name: str, **parameters: Value | Sequence[Value] | None
) -> list[tuple[str | None, ...]]:
    """Return the rows of the query called ``name``, as lexical values in column order."""
    columns = [column.name for column in load(name).columns]
    return [
        tuple(None if (term := solution[column]) is None else term.value for column in columns)
        for solution in run(store, name, **parameters)
    ]


# --- parameters -----------------------------------------------------------------------------


def _alternatives(value: Value | Sequence[Value]) -> Sequence[Value]:
    if isinstance(value, (str, int, float, bool, ox.NamedNode, ox.Literal)):
        return [value]
    return value


def _columns(
    query: Query, arguments: Mapping[str, Value | Sequence[Value] | None]
) -> dict[str, list[str]]:
    """Return the serialised values of each given parameter, by name."""
    known = {parameter.name: parameter for parameter in query.parameters}
    for name in arguments:
        if name not in known:
            there_are = ", ".join(known) or "none"
            raise QueryError(
                f"query '{query.name}' has no parameter '{name}'; there are: {there_are}"
            )
    columns: dict[str, list[str]] = {}
    for name, parameter in known.items():
        values = arguments.get(name)
        if values is None:
            if not parameter.optional:
                raise QueryError(f"query '{query.name}' needs a value for '{name}'")
            continue
        columns[name] = [
            _term(query, parameter, alternative) for alternative in _alternatives(values)
        ]
    return columns


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
        raise ValueError("it is not a whole number")
    return rdf.integer(int(value))


def _boolean(value: str | float) -> str:
    words = {"true": True, "1": True, "false": False, "0": False}
    truth = words.get(str(value).lower())
    if truth is None:
        raise ValueError("neither true nor false")
    return rdf.boolean(truth)


#: The datatypes of parameters, and the functions that serialise their values.
_WRITERS: Mapping[str, Callable[[str | float], str]] = {
    XSD.string: lambda value: rdf.string(str(value)),
    XSD.integer: _integer,
    XSD.boolean: _boolean,
    XSD.double: lambda value: rdf.double(float(value)),
}


def _expanded(value: str) -> str:
    """Expand a known prefix in ``value``, so that users may write ``outcome:empty``."""
    prefix, colon, local = value.partition(":")
    if colon and not local.startswith("//") and prefix in PREFIXES:
        return PREFIXES[prefix] + local
    return value


# --- descriptions ---------------------------------------------------------------------------


def _projected(text: str) -> list[str]:
    clause = _SELECT.search(text)
    if clause is None:
        return []
    return [match["alias"] or match["plain"] for match in _COLUMN.finditer(clause["variables"])]


@cache
def _shared() -> Declared:
    """Return the declarations of parameters and columns, which all queries share."""
    return Declared(*(resources.path("queries", f"{n}.ttl") for n in ("parameters", "columns")))


class _Description:
    """The description of a query in ``NAME.ttl``."""

    def __init__(self, name: str) -> None:
        self._file = f"queries/{name}.ttl"
        self._declared = Declared(resources.path("queries", *f"{name}.ttl".split("/")))
        self._node = self._declared.only(SH.SPARQLExecutable)
        if self.text(SKOS.notation) != name:
            raise ResourceError(f"{self._file} describes '{self.text(SKOS.notation)}'")

    def values(self, predicate: str) -> list[str]:
        """Return the lexical values of a property, sorted."""
        return self._declared.texts(self._node, predicate)

    def text(self, predicate: str) -> str:
        """Return the only value of a property."""
        return self._declared.required(self._node, predicate)

    def parameters(self) -> list[QueryParameter]:
        """Return the declared parameters, sorted by name."""
        return sorted(
            map(self._parameter, self._declared.objects(self._node, SH.parameter)),
            key=lambda p: p.name,
        )

    def columns(self) -> list[QueryColumn]:
        """Return the declared columns, unordered."""
        return [
            QueryColumn(self._one(node, CSVW.name), self._one(node, DCTERMS.description))
            for node in self._declared.objects(self._node, CSVW.column)
        ]

    def _parameter(self, node: ox.NamedNode) -> QueryParameter:
        datatype = _shared().text(node, SH.datatype)
        if datatype is not None and datatype not in _WRITERS:
            raise ResourceError(f"{self._file} uses <{node.value}>: no parameter can be {datatype}")
        return QueryParameter(
            name=self._one(node, SH.name),
            datatype=datatype,
            optional=self._one(node, SH.optional) == "true",
            description=self._one(node, SH.description),
        )

    def _one(self, node: ox.NamedNode, predicate: str) -> str:
        value = _shared().text(node, predicate)
        if value is None:
            raise ResourceError(f"{self._file} uses <{node.value}>, which has no <{predicate}>")
        return value
