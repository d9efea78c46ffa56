# SPDX-License-Identifier: Apache-2.0
"""``kgbench export``: a run in the formats of other communities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.cli.publish import Redact

if TYPE_CHECKING:
    from kgbench.exports.outgoing_run import OutgoingRun, Wanted

Run = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="A run: IRI, id (or its beginning) or label; the newest."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Where to write; standard output if unsaid."),
]
Level = Annotated[
    Redact,
    typer.Option(
        "--redact", help="Leave out nothing, reference answers, also prompts, also answers."
    ),
]
Unprotected = Annotated[
    list[str] | None,
    typer.Option(
        "--unprotected",
        metavar="SUITE",
        help="Tell texts of this protected suite in the clear; repeatable.",
    ),
]


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    group = typer.Typer(help="Write a run in another community's format.", no_args_is_help=True)
    group.callback()(_several)
    group.command("llm-kg-bench")(llm_kg_bench)
    app.add_typer(group, name="export")


def _several() -> None:
    """Write a run in another community's format."""


def llm_kg_bench(
    run: Run = None,
    *,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Level = Redact.GOLD,
    unprotected: Unprotected = None,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a result file of LLM-KG-Bench 3 (JSON).

    With --redact none, importing the file gives the same dialogues and scores.
    """
    from kgbench.exports import llm_kg_bench as exporting

    _check(out, json_=json_)
    found, left = exporting.records(_read(_wanted(run, choice, redact, unprotected), store))
    _write(_indented(found), out)
    _report(out, {"records": len(found), "without_answer": left}, json_=json_)


# --- what all of them do -----------------------------------------------------------------------


def _wanted(run: str | None, choice: str, redact: Redact, unprotected: list[str] | None) -> Wanted:
    from kgbench.exports.outgoing_run import Wanted
    from kgbench.publish.withholding import Level

    return Wanted(run, choice, Level[redact.name], frozenset(unprotected or ()))


def _read(wanted: Wanted, store: str | None) -> OutgoingRun:
    from kgbench.exports.outgoing_run import read
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        return read(opened, wanted)


def _check(out: Path | None, *, json_: bool) -> None:
    """Raise where a report is asked for that would stand in the middle of the document."""
    if json_ and out is None:
        raise typer.BadParameter(
            "tells what was written: say where with --out", param_hint="--json"
        )


def _indented(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def _write(content: bytes, out: Path | None) -> None:
    """Write a document to its file, whole or not at all, or to standard output."""
    if out is None:
        typer.echo(content, nl=False)
        return
    from kgbench.exports.writing import write_file

    write_file(out, content)


def _report(out: Path | None, counts: dict[str, Any], *, json_: bool) -> None:
    if out is None:
        return
    if json_:
        typer.echo(json.dumps({"file": str(out), **counts}, indent=2))
        return
    said = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())
    typer.echo(f"{out}  {said}")
