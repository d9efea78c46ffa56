# SPDX-License-Identifier: Apache-2.0
"""Tools over an embedded graph, read only: search, describe, schema, query, answer, cancel.

The order of every result is independent of the engine and of how the graph is stored. IRIs are
written in full, so that a model can copy them into a query.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import pyoxigraph as ox

from kgbench.api import Executor, Json, QueryResult, Tool, ToolResult
from kgbench.plugins.agents.label_index import KINDS, LONGEST, LabelIndex
from kgbench.rdf import iri
from kgbench.tasks import graphs, texts
from kgbench.tool_calls import ToolOutcome

FOLDER: Final = "tools"
ROWS: Final = 30  # rows of a query's result that a model sees
LIMIT: Final = 20  # default number of results of search and describe
_MOST: Final = 100
_MOST_TEXT: Final = 40_000  # characters of one result
_MOST_STATEMENTS: Final = 5_000  # as in outgoing.rq and incoming.rq
_VOID: Final = "void"
_CACHED: Final = 2  # graphs whose indexes and schemas are in memory
# Strings, IRIs and comments, which cannot contain keywords; then the keyword.
_ORDERS: Final = re.compile(
    r"""\"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*+"{3}|'{3}(?:[^'\\]|\\.|'{1,2}(?!'))*+'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|<[^<>\s]*+>|\#[^\n]*+"""
    r"""|\b(?P<order>ORDER\s+BY)\b""",
    re.IGNORECASE | re.DOTALL,
)


def _limit() -> dict[str, Json]:
    return {"type": "integer", "minimum": 1, "maximum": _MOST}


def arguments_schema(required: Sequence[str], **properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return the JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }


TOOLS: Final = (
    Tool(
        "search",
        "Find resources of the graph by the words of their names.",
        arguments_schema(
            ["text"],
            text={"type": "string"},
            kind={"type": "string", "enum": list(KINDS)},
            limit=_limit(),
        ),
    ),
    Tool(
        "describe",
        "Show the statements of the graph about an IRI, and those that lead to it.",
        arguments_schema(["iri"], iri={"type": "string"}, limit=_limit()),
    ),
    Tool(
        "schema",
        "Show the classes of the graph with their properties, and how often they occur; as text, "
        "or as a VoID description in Turtle.",
        arguments_schema([], format={"type": "string", "enum": ["text", _VOID]}),
    ),
    Tool(
        "query",
        f"Run a SPARQL SELECT, ASK or CONSTRUCT query on the graph; at most {ROWS} rows or triples "
        "are shown.",
        arguments_schema(["sparql"], sparql={"type": "string"}),
    ),
    Tool(
        "answer",
        "Give the SPARQL query whose result answers the question. This ends the conversation.",
        arguments_schema(["sparql"], sparql={"type": "string"}),
        ends=True,
    ),
    Tool(
        "cancel",
        "Give up, because the graph cannot answer the question. This ends the conversation.",
        arguments_schema(["reason"], reason={"type": "string"}),
        ends=True,
    ),
)


def use(
    name: str,
    arguments: Mapping[str, Json],
    graph: str,
    prefixes: Mapping[str, str],
    executor: Executor,
) -> ToolResult:
    """Run the tool called ``name`` over ``graph`` (Turtle, or an installed graph's text).

    ``prefixes`` are those that queries may use undeclared.
    """
    limit = arguments.get("limit", LIMIT)
    if name == "search":
        return _search(arguments["text"], arguments.get("kind"), limit, graph)
    if name == "describe":
        return _describe(arguments["iri"], limit, graph, executor)
    if name == "schema":
        return _schema(graph, arguments.get("format", "text"))
    return _run_query(arguments["sparql"], graph, prefixes, executor)


def tools_as_json() -> list[dict[str, Json]]:
    """Return the tools as JSON for the data of cases; ``Tool(**item)`` reads an item."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
            "ends": tool.ends,
        }
        for tool in TOOLS
    ]


def schema(graph: str) -> str:
    """Return the schema of a graph in Turtle.

    See :func:`kgbench.tasks.graphs.schema_with_counts`.
    """
    return graphs.schema_with_counts(_open_graph(graph).profile)


def prepare() -> None:
    """Load what the tools need, for judging processes, which cannot open files."""
    unicodedata.normalize("NFKD", "\u00e9")  # loads its data on first use
    LabelIndex(()).search("a", None, 1)


class _OpenGraph:
    """Index and profile of one graph, computed when first needed and kept for later dialogues."""

    def __init__(self, document: str) -> None:
        self._document = document

    @cached_property
    def index(self) -> LabelIndex:
        """The index of resources by the words of their names."""
        read = ox.parse(self._document, ox.RdfFormat.TURTLE)
        return LabelIndex(quad.triple for quad in read)

    @cached_property
    def profile(self) -> graphs.Profile:
        """The classes and properties with their numbers."""
        return graphs.profile(self._document)


_graphs: OrderedDict[str, _OpenGraph] = OrderedDict()


def _open_graph(document: str) -> _OpenGraph:
    graph = _graphs.get(document)
    if graph is None:
        graph = _graphs[document] = _OpenGraph(document)
        if len(_graphs) > _CACHED:
            _graphs.popitem(last=False)
    _graphs.move_to_end(document)
    return graph


def _search(text: str, kind: str | None, limit: int, graph: str) -> ToolResult:
    resources, number = _open_graph(graph).index.search(text, kind, limit)
    lines = []
    for resource in resources:
        names = f": {'; '.join(resource.names)}" if resource.names else ""
        lines.append(f"<{resource.iri}> ({', '.join(resource.kinds)}){names}")
    return _list_result(lines, number, "nothing has such a name")


def _schema(graph: str, form: str) -> ToolResult:
    profile = _open_graph(graph).profile
    text = graphs.void_description(profile) if form == _VOID else graphs.schema_with_counts(profile)
    lines = text.rstrip("\n").split("\n")
    return _list_result(lines, len(lines), "the graph has no class")


def _describe(resource: str, limit: int, graph: str, executor: Executor) -> ToolResult:
    address = resource.strip().removeprefix("<").removesuffix(">")
    try:
        node = iri(address)
    except ValueError:
        return ToolResult(f"error: not an absolute IRI: {address[:LONGEST]}", ToolOutcome.ERROR)
    outgoing = _rows(executor.select(_query_text("outgoing.rq", node), graph, {}))
    incoming = _rows(executor.select(_query_text("incoming.rq", node), graph, {}))
    lines = {f"{node} {p} {_anonymous(o)}{_inner(p2, o2)}" for p, o, p2, o2 in outgoing}
    lines |= {f"{_anonymous(s)} {p} {node}{_inner(p2, o2)}" for s, p, p2, o2 in incoming}
    at_least = "at least " if max(len(outgoing), len(incoming)) == _MOST_STATEMENTS else ""
    nothing = "the graph has no statement about it"
    return _list_result(sorted(lines)[:limit], len(lines), nothing, at_least)


def _inner(predicate: str | None, value: str) -> str:
    """Return a statement about a blank node, or an empty text without one."""
    return "" if predicate is None else f" [ {predicate} {_anonymous(value)} ]"


def _anonymous(term: str) -> str:
    return "[]" if term.startswith("_:") else _short(term)


def _run_query(
    sparql: str, graph: str, prefixes: Mapping[str, str], executor: Executor
) -> ToolResult:
    result = executor.explore(sparql, graph, prefixes)
    if result.error is not None:
        outcome = ToolOutcome.REFUSED if result.refused else ToolOutcome.ERROR
        return ToolResult(f"error: {result.error}", outcome)
    if result.boolean is not None:
        return ToolResult("true" if result.boolean else "false")
    rows: Sequence[tuple[str | None, ...]] = result.rows
    if not any(match["order"] for match in _ORDERS.finditer(sparql)):
        rows = sorted(rows, key=_sort_key)
    labels: dict[str, str] = {}
    lines = [" | ".join(_term_text(term, labels) for term in row) for row in rows]
    listed = _list_result(lines[:ROWS], len(lines), "no rows")
    return ToolResult(f"{_short(' | '.join(result.variables))}\n{listed.text}", listed.outcome)


def _list_result(lines: Sequence[str], total: int, nothing: str, at_least: str = "") -> ToolResult:
    """Return the result with as many ``lines`` as fit, of a total of (``at_least``) ``found``."""
    if not lines:
        return ToolResult(f"({nothing})", ToolOutcome.EMPTY)
    fitting = _fitting_count(lines)
    if total > fitting:
        remaining = f"({at_least}{total - fitting} more are not shown)"
        return ToolResult("\n".join([*lines[:fitting], remaining]), ToolOutcome.TRUNCATED)
    return ToolResult("\n".join(lines))


def _fitting_count(lines: Sequence[str]) -> int:
    """Return the number of first lines that together have at most :data:`_MOST_TEXT` characters."""
    characters = 0
    for number, line in enumerate(lines):
        characters += len(line) + 1
        if characters > _MOST_TEXT:
            return number
    return len(lines)


def _rows(result: QueryResult) -> Sequence[tuple[str, ...]]:
    if result.error is not None:
        raise ValueError(result.error)
    return result.rows  # type: ignore[return-value]  # unbound only where the query says OPTIONAL


def _query_text(name: str, node: str = "") -> str:
    return texts.shared(FOLDER, name).replace("$iri", node)


def _sort_key(row: Sequence[str | None]) -> list[str]:
    """Return the sort key of rows without ORDER BY, in which all blank nodes are equal."""
    return ["" if term is None else "_:" if term.startswith("_:") else term for term in row]


def _term_text(term: str | None, labels: dict[str, str]) -> str:
    """Return a term of a result, with blank nodes numbered in order of occurrence."""
    if term is None:
        return ""
    if term.startswith("_:"):
        return labels.setdefault(term, f"_:b{len(labels)}")
    return _short(term)


def _short(term: str) -> str:
    return term if len(term) <= LONGEST else f"{term[:LONGEST]}..."
