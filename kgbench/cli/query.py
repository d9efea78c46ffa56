# SPDX-License-Identifier: Apache-2.0
"""``kgbench query``: one of the declared queries by name, or any query."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import completing, options

if TYPE_CHECKING:
    from kgbench.analysis.queries import Query
    from kgbench.analysis.tables import Kind
    from kgbench.store.protocol import Store


class Form(StrEnum):
    """How an answer is written."""

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
            help="A declared query, a file, or - for standard input; without one, a list.",
            autocompletion=completing.queries,
        ),
    ] = None,
    *,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", "-p", metavar="K=V", help="A parameter of a declared query; repeatable."
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", "-f", help="Default: table, or turtle for graphs."),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the query with its parameters; do not run it.")
    ] = False,
    store: options.Store = None,
    suite: options.Suite = None,
    choice: options.Pass = "first",
) -> None:
    """Ask the store a declared query (NAME), or any SPARQL query (FILE or -).

    Parameters passGraph and runGraph, where not given, follow from --suite and --pass.
    """
    from kgbench.analysis import queries
    from kgbench.store import open_reader

    if name is None:
        _list(queries)
        return
    given = _parameters(param or [])
    declared = queries.load(name) if name in queries.names() else None
    if declared is None and given:
        raise typer.BadParameter("only declared queries have parameters", param_hint="--param")
    if declared is None and name != "-" and not Path(name).is_file():
        queries.load(name)  # says what there is
    with open_reader(store) as opened:
        if declared is None:
            asked = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        else:
            given = _complete(opened, declared, given, suite, choice)
            asked = queries.bind(declared, **given)
        if text:
            typer.echo(asked)
        else:
            _write(opened.query(asked), form, opened.iris.base)


def _parameters(texts: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"'{text}' is not of the form key=value", param_hint="--param")
        found[key].append(value)
    return dict(found)


def _complete(
    store: Store, declared: Query, given: dict[str, list[str]], suite: str | None, choice: str
) -> dict[str, list[str]]:
    """``given``, with the graphs that the selected suite and passes stand for."""
    names = {parameter.name for parameter in declared.parameters} - set(given)
    if not names & {"passGraph", "runGraph"}:
        return given
    from kgbench.analysis.selection import select

    chosen = select(store, suite, choice)
    graphs = {"passGraph": chosen.pass_graphs, "runGraph": chosen.run_graphs}
    filled = {key: list(value) for key, value in graphs.items() if key in names}
    if chosen.latest and "latest" in names:
        filled["latest"] = ["true"]
    return {**given, **filled}


def _list(queries: Any) -> None:
    from kgbench.analysis.tables import Column, Table, render

    rows = []
    for name in queries.names():
        found = queries.load(name)
        parameters = " ".join(p.name if p.optional else f"{p.name}*" for p in found.parameters)
        rows.append((name, parameters, found.label))
    columns = (
        Column("query", "Query"),
        Column("parameters", "Parameters (* needed)"),
        Column("label", "Answers"),
    )
    typer.echo(render(Table("Declared queries", columns, tuple(rows)), "table"), nl=False)


def _write(answer: Any, form: Form | None, base: str) -> None:
    import pyoxigraph as ox

    is_graph = isinstance(answer, ox.QueryTriples)
    refusal = _refusal(form, is_graph=is_graph)
    if refusal:
        del answer  # a traceback that held it might be freed by a thread that may not free it
        raise typer.BadParameter(refusal, param_hint="--format")
    if is_graph:
        from kgbench.vocab import PREFIXES

        ox.serialize(answer, sys.stdout.buffer, ox.RdfFormat.TURTLE, prefixes=dict(PREFIXES))
    elif form in (None, Form.TABLE):
        _table(answer, base)
    else:
        kinds = {
            Form.JSON: ox.QueryResultsFormat.JSON,
            Form.CSV: ox.QueryResultsFormat.CSV,
            Form.TSV: ox.QueryResultsFormat.TSV,
            Form.XML: ox.QueryResultsFormat.XML,
        }
        answer.serialize(sys.stdout.buffer, kinds[form])
        if form in (Form.JSON, Form.XML):
            sys.stdout.buffer.write(b"\n")
    sys.stdout.flush()


def _refusal(form: Form | None, *, is_graph: bool) -> str | None:
    """Why an answer cannot be written in a format; ``None`` where it can."""
    if is_graph and form not in (None, Form.TURTLE):
        return "a graph is written as turtle"
    if form is Form.TURTLE and not is_graph:
        return "only graphs can be written as turtle"
    return None


def _table(answer: Any, base: str) -> None:
    """A table for people: IRIs by prefix, or relative to the base of the store."""
    import pyoxigraph as ox

    from kgbench.analysis.tables import Column, Table, render
    from kgbench.vocab import compact

    if isinstance(answer, ox.QueryBoolean):
        typer.echo("yes" if answer else "no")
        return

    def shown(term: Any) -> str | None:
        if term is None:
            return None
        if not isinstance(term, ox.NamedNode):
            return str(term.value)
        short = compact(term.value)
        return short.removeprefix(base) if short == term.value else short

    names = [variable.value for variable in answer.variables]
    found = [[row[name] for name in names] for row in answer]
    kinds = [_kind(row[place] for row in found) for place in range(len(names))]
    table = Table(
        f"{len(found)} row{'' if len(found) == 1 else 's'}",
        tuple(Column(name, name, kind) for name, kind in zip(names, kinds, strict=True)),
        tuple(tuple(map(shown, row)) for row in found),
    )
    typer.echo(render(table, "table"), nl=False)


def _kind(terms: Iterable[Any]) -> Kind:
    """What a column holds: numbers stand to the right."""
    from kgbench.analysis.tables import Kind

    bound = [term for term in terms if term is not None]
    numbers = bound and all(_is_number(term) for term in bound)
    return Kind.COUNT if numbers else Kind.TEXT


def _is_number(term: Any) -> bool:
    from pyoxigraph import Literal

    from kgbench.vocab import XSD

    numeric = {XSD.integer, XSD.decimal, XSD.double}
    return isinstance(term, Literal) and term.datatype.value in numeric
