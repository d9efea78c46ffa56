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

from kgbench import resources
from kgbench.errors import QueryError, ResourceError
from kgbench.nearest import nearest
from kgbench.rdf import terms
from kgbench.rdf.declared import Declared
from kgbench.vocab import DCTERMS, PREFIXES, RDFS, SCHEMA, SH, SKOS, XSD, Namespace

CSVW = Namespace("http://www.w3.org/ns/csvw#")

Value: TypeAlias = str | int | float | bool | ox.NamedNode | ox.Literal
"""One value of a parameter; text is read by the parameter's datatype."""

_MARK = re.compile(r"^[ \t]*# PARAMETERS[ \t]*$", re.MULTILINE)
_SELECT = re.compile(r"\bSELECT\b(?P<variables>.*?)\bWHERE\b", re.DOTALL)
_PREFIXED = re.compile(r"(?<![\w.<-])([\w.-]*):[^\s:<>\"'/]*\s*$")
_COLUMN = re.compile(
    r"\(\s*\w+\((?:[^()]|\([^()]*\))*\)\s+AS\s+\?(?P<alias>\w+)\)|\?(?P<plain>\w+)"
)


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


@cache
def names() -> tuple[str, ...]:
    """The names of all queries, sorted."""
    return tuple(sorted(path.stem for path in resources.folder("queries").glob("*.rq")))


@cache
def digest() -> str:
    """The SHA-256 over the texts of all queries, in hex."""
    texts = "".join(f"{name}\n{resources.text('queries', f'{name}.rq')}" for name in names())
    return terms.digest(texts)


@cache
def load(name: str) -> Query:
    """The query called ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is none, and
    :class:`~kgbench.errors.ResourceError` where its description is missing or disagrees with it.
    """
    if name not in names():
        raise QueryError(f"there is no query '{name}': {nearest(name, names())}")
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


class Bound(str):
    """The text of a query with its parameters; ``name`` is what ``queries/`` calls the query."""

    __slots__ = ("name",)
    name: str


def bind(query: Query, **parameters: Value | Sequence[Value] | None) -> Bound:
    """The text of ``query`` with ``parameters`` as its ``VALUES`` block.

    Several values of one parameter are alternatives. A parameter that is not given, or is ``None``,
    has no column in the block, which restricts it as little as ``UNDEF`` does. An empty sequence of
    alternatives matches nothing. Raises :class:`~kgbench.errors.QueryError` for a parameter that is
    unknown, missing, or not of its datatype.
    """
    columns = _columns(query, parameters)
    text = Bound(_MARK.sub(lambda _: _values(columns), query.text, count=1))
    text.name = query.name
    return text


def compact(
    query: Query, most: int | None = None, **parameters: Value | Sequence[Value] | None
) -> str:
    """The text of ``query`` for people: no comments, and a ``VALUES`` block for each parameter.

    It asks the same as what :func:`bind` gives, and grows with the sum of the numbers of values
    instead of their product. A parameter with more than ``most`` values becomes a comment that
    says how many it has. Raises as :func:`bind` does.
    """
    lines = []
    for name, values in _columns(query, parameters).items():
        if most is not None and len(values) > most:
            lines.append(f"  # ?{name}: one of {len(values)} values, not shown")
        else:
            lines.append(f"  VALUES ?{name} {{ {' '.join(values)} }}")
    shown = (line for line in query.text.splitlines() if not line.startswith("#"))
    return _MARK.sub(lambda _: "\n".join(lines), "\n".join(shown), count=1) + "\n"


def run(store: Any, name: str, **parameters: Value | Sequence[Value] | None) -> Any:
    """The answer of the store to the query called ``name``, as pyoxigraph gives it."""
    return store.query(bind(load(name), **parameters))


def ask(store: Any, text: str, *, prefixed: bool = True) -> Any:
    """The answer of the store to any query, as pyoxigraph gives it.

    The common prefixes are declared where ``prefixed``; those that the text declares override
    them. A :class:`~kgbench.errors.QueryError` tells a syntax error by its place, without the
    grammar.
    """
    # On the first line: errors tell the lines of the text.
    common = "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())
    whole = common + text if prefixed else text
    try:
        return store.query(whole)
    except QueryError as error:
        place = re.search(r"error at (\d+):(\d+): (.*)", str(error), re.DOTALL)
        if place is None:
            raise
        line, column = int(place[1]), int(place[2])
        before = whole.split("\n")[line - 1][: column - 1].removeprefix(common)
        # The engine tells of a prefix, or of what it expects in place of a name that has one.
        name = _PREFIXED.search(before)
        if name is not None and not _is_declared(name[1], whole):
            raise QueryError(f"prefix {name[1]}: is not declared (line {line})") from error
        shown = before[-40:].lstrip()
        raise QueryError(f"the query is not SPARQL: line {line}, after '{shown}'") from error


def _is_declared(prefix: str, text: str) -> bool:
    return re.search(rf"\bPREFIX\s+{re.escape(prefix)}:", text, re.IGNORECASE) is not None


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


def _columns(
    query: Query, given: Mapping[str, Value | Sequence[Value] | None]
) -> dict[str, list[str]]:
    """The serialised values of each parameter that is given, by name."""
    known = {parameter.name: parameter for parameter in query.parameters}
    for name in given:
        if name not in known:
            there_are = ", ".join(known) or "none"
            raise QueryError(
                f"query '{query.name}' has no parameter '{name}'; there are: {there_are}"
            )
    columns: dict[str, list[str]] = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None:
            if not parameter.optional:
                raise QueryError(f"query '{query.name}' needs a value for '{name}'")
            continue
        columns[name] = [_term(query, parameter, one) for one in _alternatives(value)]
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
            return terms.iri(_expanded(value.value if isinstance(value, ox.NamedNode) else value))
        raise ValueError("it is a literal")
    if isinstance(value, ox.NamedNode):
        raise ValueError("it is an IRI")  # noqa: TRY004 - reported together with bad values
    lexical = value.value if isinstance(value, ox.Literal) else value
    return _WRITERS[parameter.datatype](lexical)


def _integer(value: str | float) -> str:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("it is no whole number")
    return terms.integer(int(value))


def _boolean(value: str | float) -> str:
    words = {"true": True, "1": True, "false": False, "0": False}
    found = words.get(str(value).lower())
    if found is None:
        raise ValueError("neither true nor false")
    return terms.boolean(found)


#: The datatypes that parameters may have, and how their values are written.
_WRITERS: Mapping[str, Callable[[str | float], str]] = {
    XSD.string: lambda value: terms.string(str(value)),
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
def _shared() -> Declared:
    """The parameters and columns, which all queries share."""
    return Declared(*(resources.path("queries", f"{n}.ttl") for n in ("parameters", "columns")))


class _Description:
    """What ``NAME.ttl`` says of a query."""

    def __init__(self, name: str) -> None:
        self._file = f"queries/{name}.ttl"
        self._declared = Declared(resources.path("queries", f"{name}.ttl"))
        self._node = self._declared.only(SH.SPARQLExecutable)
        if self.text(SKOS.notation) != name:
            raise ResourceError(f"{self._file} describes '{self.text(SKOS.notation)}'")

    def values(self, predicate: str) -> list[str]:
        """The lexical values of a property, sorted."""
        return self._declared.texts(self._node, predicate)

    def text(self, predicate: str) -> str:
        """The one value of a property."""
        return self._declared.required(self._node, predicate)

    def parameters(self) -> list[QueryParameter]:
        """The declared parameters, by name."""
        return sorted(
            map(self._parameter, self._declared.objects(self._node, SH.parameter)),
            key=lambda p: p.name,
        )

    def columns(self) -> list[QueryColumn]:
        """The declared columns, in no order."""
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
        found = _shared().text(node, predicate)
        if found is None:
            raise ResourceError(f"{self._file} uses <{node.value}>, which has no <{predicate}>")
        return found
