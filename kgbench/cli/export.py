# SPDX-License-Identifier: Apache-2.0
"""``kgbench export``: write a run in the formats of other communities.

Plug-ins add formats. They share the selection of a run and the writing of a document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options, plug_ins, printing
from kgbench.cli.commands import Group
from kgbench.cli.plug_ins import Subcommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgbench.exports.outgoing_run import ExportRequest, OutgoingRun
    from kgbench.publish.settings import Agent
    from kgbench.tables import Table

Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: the newest that is not of judges.",
        autocompletion=options.complete_runs,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="The file to write. Default: standard output."
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write; it must not exist."),
]
_DIALOGUE = re.compile(r"/run/[^/]+/[^/]+/[^/]+/[0-9]+-w?[0-9a-f]+(?:\.[0-9]+)?$")
GROUP = "kgbench.exports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Group):
    """Options that select the store, the evaluation pass, and what to leave out."""

    store: options.Store = None
    pass_: options.Pass = options.FIRST
    redact: Annotated[
        options.Redact,
        typer.Option(
            help="What to leave out: nothing (none), reference answers (gold), also prompts, or "
            "also answers."
        ),
    ] = options.Redact.GOLD
    unprotected: options.Unprotected = None

    def read(self, run: str | None) -> OutgoingRun:
        """Read a run, or one of its dialogues, redacted as the options say."""
        return read(run_selection(run, self.pass_, self.redact, self.unprotected), self.store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit(Group):
    """Options that name the creators of the results and their licence."""

    licence: Annotated[
        str,
        typer.Option(
            "--licence",
            "--license",
            metavar="SPDX",
            help="The licence: an SPDX identifier or an IRI.",
        ),
    ]
    creator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A creator of the results, as 'Name' or 'Name <IRI>'; repeatable."
        ),
    ] = None

    def licence_iri(self) -> str:
        """Return the IRI of the licence."""
        from kgbench.publish.settings import licence

        return licence(self.licence)

    def agents(self) -> tuple[Agent, ...]:
        """Return the creators of the results."""
        from kgbench.publish.settings import agent

        return tuple(map(agent, self.creator or ()))


def require_packages(*packages: str, extra: str = "publish") -> None:
    """Raise :class:`~kgbench.errors.ResourceError` if a package of an extra is not installed."""
    from importlib.util import find_spec

    from kgbench.errors import ResourceError, pip_install

    for name in packages:
        if find_spec(name) is None:
            raise ResourceError(f"{name} is not installed: {pip_install(f'kgbench[{extra}]')}")


def run_selection(
    run: str | None, pass_: str, redact: options.Redact | None, unprotected: list[str] | None
) -> ExportRequest:
    """Return the selection of an export command: a run or one dialogue, and the redaction level."""
    from kgbench.exports.outgoing_run import ExportRequest
    from kgbench.publish.redaction import RedactionLevel

    dialogue = run if run is not None and _DIALOGUE.search(run) else None
    level = None if redact is None else RedactionLevel[redact.name]
    return ExportRequest(run, pass_, level, frozenset(unprotected or ()), dialogue)


def read(wanted: ExportRequest, store: str | None) -> OutgoingRun:
    """Read the selected run from a store, redacted."""
    from kgbench.exports.outgoing_run import read
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        return read(opened, wanted)


def check_destination(out: Path | None, *, json_: bool) -> None:
    """Refuse a JSON report on standard output that would end up in the exported document."""
    if json_ and out is None:
        raise typer.BadParameter(
            "it needs --out, because the document goes to standard output", param_hint="--json"
        )


def indented_json(value: Any) -> bytes:
    """Return ``value`` as indented JSON in ASCII, with a newline at the end."""
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def write(content: bytes, out: Path | None) -> None:
    """Write a document atomically to a file, or to standard output."""
    if out is None:
        typer.echo(content, nl=False)
        return
    from kgbench import files

    files.write(out, content)


def report_written(out: Path | None, counts: dict[str, Any], *, json_: bool) -> None:
    """Print what was written to a file; nothing if the document went to standard output."""
    if out is None:
        return
    parts = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())
    printing.report({"file": str(out), **counts}, [f"{out}  {parts}"], json_=json_)


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
    check_destination(out, json_=json_)
    if form in (TableFormat.PARQUET, TableFormat.ARROW):
        require_packages("pyarrow", extra="tables")
    from kgbench.cli.printing import report_guarded
    from kgbench.exports import wide_table as exporting
    from kgbench.publish.redaction import RedactionLevel
    from kgbench.tables.rendering import as_csv, render
    from kgbench.tables.xlsx import as_xlsx

    results = read(run_selection(run, pass_, redact, unprotected), store)
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
    write(writers[form](table), out)
    if redact is None and results.level is RedactionLevel.ANSWERS:
        typer.echo(
            "the suite is protected: texts are left out (include them with --unprotected SUITE)",
            err=True,
        )
    report_written(out, {"dialogues": len(table.rows), "columns": len(table.columns)}, json_=json_)
