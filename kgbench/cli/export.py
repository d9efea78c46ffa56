# SPDX-License-Identifier: Apache-2.0
"""``kgbench export``: write a run in the formats of other communities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import starmap
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import export_options, options, plug_ins
from kgbench.cli.export_options import Out, Run
from kgbench.cli.plug_ins import Subcommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgbench.tables import Table


GROUP = "kgbench.exports"


class TableFormat(StrEnum):
    """Formats of the wide table."""

    CSV = "csv"
    XLSX = "xlsx"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"


group = typer.Typer(help="Write a run in another community's format.", no_args_is_help=True)


def subcommands(_: Sequence[str]) -> Iterator[Subcommand]:
    """Yield the exports of plug-ins."""
    return starmap(Subcommand, plug_ins.usable(GROUP, ("table",)).items())


@group.command("table")
def wide_table(
    run: Run = None,
    *,
    form: Annotated[
        TableFormat, typer.Option("--format", "-f", help="Format of the table.")
    ] = TableFormat.CSV,
    store: options.Store = None,
    pass_: options.Pass = options.FIRST,
    redact: Annotated[
        options.Redact | None,
        typer.Option(
            help="What to leave out. Default: reference answers, and all texts of protected suites."
        ),
    ] = None,
    unprotected: options.Unprotected = None,
    guard: options.Guard = False,
    crlf: options.Crlf = False,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export a table with a row per dialogue: all scores and infos, and the last answer."""
    export_options.check_destination(out, json_=json_)
    if form in (TableFormat.PARQUET, TableFormat.ARROW):
        export_options.require_packages("pyarrow", extra="tables")
    from kgbench.cli.tables import report_guarded
    from kgbench.exports import wide_table as exporting
    from kgbench.publish.redaction import RedactionLevel
    from kgbench.tables.rendering import as_csv, render
    from kgbench.tables.xlsx import as_xlsx

    results = export_options.read(
        export_options.run_selection(run, pass_, redact, unprotected), store
    )
    table = exporting.wide_table(results)
    if guard:
        table, changed = table.spreadsheet_safe()
        report_guarded(changed)
    writers: dict[TableFormat, Callable[[Table], bytes]] = {
        TableFormat.CSV: lambda content: as_csv(content, "\r\n" if crlf else "\n").encode("utf-8"),
        TableFormat.JSON: lambda content: render(content, "json").encode("utf-8"),
        TableFormat.XLSX: as_xlsx,
        TableFormat.PARQUET: exporting.as_parquet,
        TableFormat.ARROW: exporting.as_arrow,
    }
    export_options.write(writers[form](table), out)
    if redact is None and results.level is RedactionLevel.ANSWERS:
        typer.echo(
            "the suite is protected: texts are left out (include them with --unprotected SUITE)",
            err=True,
        )
    export_options.report(
        out, {"dialogues": len(table.rows), "columns": len(table.columns)}, json_=json_
    )
