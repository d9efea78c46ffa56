# SPDX-License-Identifier: Apache-2.0
"""``kgbench query``: run a declared query by name, or any SPARQL query."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from kgbench.cli import completion, options

if TYPE_CHECKING:
    from kgbench.rdf.queries import Query
    from kgbench.store.protocol import Store
    from kgbench.tables import Kind


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


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("query")(query)


def query(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE|-]",
            help="A declared query, a file, or - for standard input. Default: list the queries.",
            autocompletion=completion.queries,
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
            arguments = _complete(opened, declared, arguments, suite, pass_)
            text_to_run = queries.bind(declared, **arguments)
        if text:
            typer.echo(text_to_run)
        else:
            answer = _answer(opened, text_to_run, is_declared=declared is not None)
            _write(answer, form, opened.iris.base, guard=guard, crlf=crlf)


def _answer(store: Store, text: str, *, is_declared: bool) -> Any:
    """Run a query; an empty answer comes with a note about unknown terms of kgbench."""
    from kgbench.api.query_tables import ask, is_empty
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

    if name != "-":
        raw = Path(name).read_bytes()
    elif sys.stdin is None:
        raise QueryError("the query cannot be read: standard input is closed")
    else:
        raw = sys.stdin.buffer.read()
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


def _complete(
    store: Store, declared: Query, arguments: dict[str, list[str]], suite: str | None, pass_: str
) -> dict[str, Any]:
    """Add the graphs of the selected suite and passes to the arguments."""
    from kgbench.scores.selection import filled, select

    return filled(declared, arguments, lambda: select(store, suite, pass_))


def _list(queries: Any) -> None:
    from kgbench.tables import Column, Table, render

    rows = []
    for name in queries.names():
        declared = queries.load(name)
        parameters = " ".join(p.name if p.optional else f"{p.name}*" for p in declared.parameters)
        rows.append((name, parameters, declared.label))
    columns = (
        Column("query", "Query"),
        Column("parameters", "Parameters (* needed)"),
        Column("label", "Answers"),
    )
    typer.echo(render(Table("Declared queries", columns, tuple(rows)), "table"), nl=False)


def _write(answer: Any, form: Form | None, base: str, *, guard: bool, crlf: bool) -> None:
    import pyoxigraph as ox

    is_graph = isinstance(answer, ox.QueryTriples)
    refusal = _refusal(form, is_graph=is_graph)
    if refusal:
        # A traceback would keep the answer alive, and another thread might free it, which
        # pyoxigraph does not allow.
        del answer
        raise typer.BadParameter(refusal, param_hint="--format")
    if not is_graph and form in (None, Form.TABLE):
        _table(answer, base)
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
    """Write solutions or a boolean in a SPARQL 1.1 result format."""
    import pyoxigraph as ox

    from kgbench.characters import XmlSink

    if form is Form.CSV:
        _csv(answer, out, guard=guard, crlf=crlf)
    elif form is Form.XML:
        sink = XmlSink(out)
        answer.serialize(sink, ox.QueryResultsFormat.XML)
        sink.flush()
    else:
        kinds = {
            Form.JSON: ox.QueryResultsFormat.JSON,
            Form.TSV: ox.QueryResultsFormat.TSV,
        }
        answer.serialize(out, kinds[form or Form.JSON])
    if form in (Form.JSON, Form.XML):
        out.write(b"\n")


def _csv(answer: Any, out: BinaryIO, *, guard: bool, crlf: bool) -> None:
    """Write solutions as CSV with LF, as all CSV files of kgbench, or with CR LF (RFC 4180)."""
    import csv

    import pyoxigraph as ox

    from kgbench.characters import spreadsheet_safe
    from kgbench.cli.tables import report_guarded

    if isinstance(answer, ox.QueryBoolean):
        rows: list[list[Any]] = [["true" if answer else "false"]]
    else:
        rows = [[variable.value for variable in answer.variables]]
        rows += [[_cell(term) for term in solution] for solution in answer]
    if guard:
        rows, changed = spreadsheet_safe(rows)
        report_guarded(changed)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n" if crlf else "\n").writerows(rows)
    out.write(text.getvalue().encode("utf-8"))


def _cell(term: Any) -> Any:
    """Return the text of a term in CSV; that of a number, which is no formula, is no ``str``."""
    from collections import UserString

    from pyoxigraph import Literal, NamedNode

    if term is None:
        return ""
    if _is_number(term) and _NUMERAL.fullmatch(term.value):
        return UserString(term.value)
    return term.value if isinstance(term, Literal | NamedNode) else str(term)


def _refusal(form: Form | None, *, is_graph: bool) -> str | None:
    """Explain why an answer cannot be written in a format; ``None`` if it can."""
    if is_graph and form not in (None, Form.TURTLE):
        return "a graph is written as turtle"
    if form is Form.TURTLE and not is_graph:
        return "only graphs can be written as turtle"
    return None


def _table(answer: Any, base: str) -> None:
    """Print a table with IRIs as prefixed names, or relative to the base of the store."""
    import pyoxigraph as ox

    from kgbench.tables import Column, Table, render
    from kgbench.vocab import compact

    if isinstance(answer, ox.QueryBoolean):
        typer.echo("yes" if answer else "no")
        return

    def text(term: Any) -> str | None:
        if term is None:
            return None
        if not isinstance(term, ox.NamedNode):
            return str(term.value)
        compacted = compact(term.value)
        return compacted.removeprefix(base) if compacted == term.value else compacted

    names = [variable.value for variable in answer.variables]
    rows = [[row[name] for name in names] for row in answer]
    kinds = [_kind(row[column] for row in rows) for column in range(len(names))]
    table = Table(
        f"{len(rows)} row{'' if len(rows) == 1 else 's'}",
        tuple(Column(name, name, kind) for name, kind in zip(names, kinds, strict=True)),
        tuple(tuple(map(text, row)) for row in rows),
    )
    typer.echo(render(table, "table"), nl=False)


def _kind(terms: Iterable[Any]) -> Kind:
    """Return the kind of a column; numbers are aligned to the right."""
    from kgbench.tables import Kind

    bound = [term for term in terms if term is not None]
    numbers = bound and all(_is_number(term) for term in bound)
    return Kind.COUNT if numbers else Kind.TEXT


def _is_number(term: Any) -> bool:
    from pyoxigraph import Literal

    from kgbench.policies.values import NUMERIC

    return isinstance(term, Literal) and term.datatype.value in NUMERIC
