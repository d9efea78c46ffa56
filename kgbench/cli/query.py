# SPDX-License-Identifier: Apache-2.0
"""``kgbench query``: run a declared query by name, or any SPARQL query."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from kgbench.cli import options
from kgbench.cli.printing import count, listing, report, report_guarded

if TYPE_CHECKING:
    from kgbench.store.protocol import Store
    from kgbench.tables import Table


# The lexical forms of numbers; those that are no numbers in a spreadsheet stay text.
_NUMERAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class Form(StrEnum):
    """Output formats of query results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    XML = "xml"
    TURTLE = "turtle"


def query(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE|-]",
            help="A declared query, a file, or - for standard input. Default: list the queries.",
            autocompletion=options.complete_queries,
        ),
    ] = None,
    *,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", "-p", metavar="K=V", help="A parameter of the declared query; repeatable."
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format", "-f", help="The output format. Default: table, or turtle for graphs."
        ),
    ] = None,
    text: Annotated[
        bool,
        typer.Option("--text", help="Print the query with its parameters instead of running it."),
    ] = False,
    guard: options.Guard = False,
    crlf: options.Crlf = False,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
) -> None:
    """Run a declared query by name, or any SPARQL query, on the store.

    The parameters passGraph and runGraph default to the graphs selected by --suite and --pass.
    """
    from kgbench.errors import QueryError
    from kgbench.rdf import queries
    from kgbench.scores.selection import filled, select
    from kgbench.store import open_reader

    if name is None:
        _list(queries)
        return
    arguments = _parameters(param or [])
    declared = queries.load(name) if name in queries.names() else None
    if declared is None and arguments:
        raise typer.BadParameter("only declared queries have parameters", param_hint="--param")
    # Unlike Path.is_file, this is false for a text that is too long for a name.
    if declared is None and name != "-" and not os.path.isfile(name):  # noqa: PTH113
        if "{" in name:
            raise QueryError(
                "the text of a query is no argument: name a file that has it, or give - and pipe "
                "it to standard input"
            )
        if "/" in name or "." in name:
            raise QueryError(f"there is no file {name}")
        queries.load(name)  # raises an error that suggests names
    if sys.stdout is None:
        raise QueryError("the answer cannot be printed: standard output is closed")
    with open_reader(store) as opened:
        if declared is None:
            text_to_run = _read(name)
            if not text_to_run.strip():
                raise QueryError("the query is empty")
        else:
            chosen = filled(declared, arguments, lambda: select(opened, suite, pass_))
            text_to_run = queries.bind(declared, **chosen)
        if text:
            typer.echo(text_to_run)
        else:
            is_declared, base = declared is not None, opened.iris.base
            # No name here: a traceback would keep the answer alive (see _write).
            _write(
                _answer(opened, text_to_run, is_declared=is_declared),
                form,
                base,
                guard=guard,
                crlf=crlf,
            )


def _answer(store: Store, text: str, *, is_declared: bool) -> Any:
    """Run a query; an empty answer comes with a note about unknown terms of kgbench."""
    from kgbench.api.connection import ask, is_empty
    from kgbench.execution.query_terms import unknown_terms

    answer = ask(store, text, prefixed=not is_declared)
    if is_declared or (note := unknown_terms(text)) is None:
        return answer
    if is_empty(answer):
        typer.echo(f"the answer is empty: {note}", err=True)
    return ask(store, text)  # is_empty has read the first row


def _read(name: str) -> str:
    """Return the text of a query from a file, or from standard input if the name is ``-``."""
    from kgbench.errors import QueryError

    if name == "-" and sys.stdin is None:
        raise QueryError("the query cannot be read: standard input is closed")
    raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        source = "standard input" if name == "-" else name
        raise QueryError(
            f"the query from {source} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from None


def _parameters(texts: list[str]) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"'{text}' is not of the form key=value", param_hint="--param")
        parameters[key].append(value)
    return dict(parameters)


def _list(queries: Any) -> None:
    entries = [
        {
            "name": name,
            "parameters": " ".join(p.name + "*" * (not p.optional) for p in declared.parameters),
            "label": declared.label,
        }
        for name in queries.names()
        for declared in (queries.load(name),)
    ]
    columns = {"name": "Query", "parameters": "Parameters (* needed)", "label": "Answers"}
    report(None, [listing("Declared queries", columns, entries)], json_=False)


def _write(answer: Any, form: Form | None, base: str, *, guard: bool, crlf: bool) -> None:
    import pyoxigraph as ox

    is_graph = isinstance(answer, ox.QueryTriples)
    refusal = None
    if is_graph and form not in (None, Form.TURTLE):
        refusal = "a graph is written as turtle"
    elif form is Form.TURTLE and not is_graph:
        refusal = "only graphs can be written as turtle"
    if refusal is not None:
        # A traceback would keep the answer alive, and another thread might free it, which
        # pyoxigraph does not allow.
        del answer
        raise typer.BadParameter(refusal, param_hint="--format")
    if not is_graph and form in (None, Form.TABLE):
        decided = isinstance(answer, ox.QueryBoolean)
        yes = "yes" if decided and answer else "no"
        report(None, [yes if decided else _table(answer, partial(_short, base))], json_=False)
        sys.stdout.flush()
        return
    # These formats keep control characters, which a terminal would interpret.
    terminal = io.BytesIO() if sys.stdout.isatty() else None
    out = terminal or sys.stdout.buffer
    if is_graph:
        from kgbench.vocab import PREFIXES

        ox.serialize(answer, out, ox.RdfFormat.TURTLE, prefixes=dict(PREFIXES))
    else:
        _solutions(answer, form, out, guard=guard, crlf=crlf)
    if terminal is not None:
        from kgbench.characters import visible

        typer.echo(visible(terminal.getvalue().decode("utf-8").replace("\r\n", "\n")), nl=False)
    sys.stdout.flush()


def _solutions(answer: Any, form: Form | None, out: BinaryIO, *, guard: bool, crlf: bool) -> None:
    """Write solutions or a boolean in a SPARQL 1.1 result format.

    Lines of CSV end with LF, as in all CSV files of kgbench, or with CR LF (RFC 4180).
    """
    import pyoxigraph as ox

    from kgbench.characters import XmlSink

    end = "\r\n" if crlf else "\n"
    if form is Form.CSV and isinstance(answer, ox.QueryBoolean):
        out.write(f"{'true' if answer else 'false'}{end}".encode())
    elif form is Form.CSV:
        from kgbench.tables.rendering import as_csv

        table = _table(answer, _cell)
        if guard:
            table, changed = table.spreadsheet_safe()
            report_guarded(changed)
        out.write(as_csv(table, end).encode("utf-8"))
    elif form is Form.XML:
        sink = XmlSink(out)
        answer.serialize(sink, ox.QueryResultsFormat.XML)
        sink.flush()
    else:
        tsv, json = ox.QueryResultsFormat.TSV, ox.QueryResultsFormat.JSON
        answer.serialize(out, tsv if form is Form.TSV else json)
    if form in (Form.JSON, Form.XML):
        out.write(b"\n")


def _table(answer: Any, cell: Callable[[Any], Any]) -> Table:
    """Return solutions as a table of what ``cell`` makes of terms; unbound variables are empty."""
    from kgbench.tables import Column, Kind, Table

    names = [variable.value for variable in answer.variables]
    rows = [[row[name] for name in names] for row in answer]
    kinds = [
        Kind.COUNT if terms and all(map(_is_number, terms)) else Kind.TEXT  # aligned to the right
        for terms in ([row[k] for row in rows if row[k] is not None] for k in range(len(names)))
    ]
    return Table(
        count(len(rows), "row"),
        tuple(Column(name, name, kind) for name, kind in zip(names, kinds, strict=True)),
        tuple(tuple(None if term is None else cell(term) for term in row) for row in rows),
    )


def _cell(term: Any) -> Any:
    """Return the text of a term in CSV; that of a number, which is no formula, is no ``str``."""
    from collections import UserString

    from pyoxigraph import Literal, NamedNode

    if _is_number(term) and _NUMERAL.fullmatch(term.value):
        return UserString(term.value)
    return term.value if isinstance(term, Literal | NamedNode) else str(term)


def _short(base: str, term: Any) -> str:
    """Return the text of a term for people: IRIs as prefixed names, or relative to ``base``."""
    from pyoxigraph import NamedNode

    from kgbench.vocab import compact

    if not isinstance(term, NamedNode):
        return str(term.value)
    compacted = compact(term.value)
    return compacted.removeprefix(base) if compacted == term.value else compacted


def _is_number(term: Any) -> bool:
    from pyoxigraph import Literal

    from kgbench.policies.values import NUMERIC

    return isinstance(term, Literal) and term.datatype.value in NUMERIC
