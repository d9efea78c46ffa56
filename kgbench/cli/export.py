# SPDX-License-Identifier: Apache-2.0
"""``kgbench export``: a run in the formats of other communities."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import completing, export_nanopublications, options, outgoing
from kgbench.cli.groups import grouped
from kgbench.cli.outgoing import Credit, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgbench.analysis.tables import Table


Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: the newest.",
        autocompletion=completing.runs,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Where to write; standard output if unsaid."),
]
Place = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; it must not be there."),
]


class ProvFormat(StrEnum):
    """How provenance is written."""

    PROVN = "provn"
    JSON = "json"
    XML = "xml"
    RDF = "rdf"
    SVG = "svg"
    PNG = "png"


class TableFormat(StrEnum):
    """How the wide table is written."""

    CSV = "csv"
    XLSX = "xlsx"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"


class Relation(StrEnum):
    """What an evaluator is to the makers of the models."""

    FIRST = "first_party"
    THIRD = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    group = typer.Typer(help="Write a run in another community's format.", no_args_is_help=True)
    group.callback()(_several)
    for one in (prov, rocrate, croissant, eee, notebook):
        group.command(one.__name__)(one)
    group.command("llm-kg-bench")(llm_kg_bench)
    group.command("inspect")(inspect_logs)
    group.command("table")(wide_table)
    group.command("nanopublications")(export_nanopublications.nanopublications)
    app.add_typer(group, name="export")


_NEEDED = {ProvFormat.PNG: ("matplotlib",), ProvFormat.XML: ("lxml",)}


def _several() -> None:
    """Write a run in another community's format."""


@grouped
def llm_kg_bench(
    run: Run = None,
    *,
    source: Source,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a result file of LLM-KG-Bench 3 (JSON).

    With --redact none, importing the file gives the same dialogues and scores.
    """
    from kgbench.exports import llm_kg_bench as exporting

    outgoing.check_place(out, json_=json_)
    found, left = exporting.records(source.read(run))
    outgoing.write(outgoing.indented(found), out)
    outgoing.report(out, {"records": len(found), "without_answer": left}, json_=json_)


@grouped
def inspect_logs(
    run: Run = None,
    *,
    place: Place,
    source: Source,
    json_: options.AsJson = False,
) -> None:
    """Export a run as logs of Inspect AI, one for each model and task, with tool calls.

    Importing them gives the same prompts, answers, tool calls and scores.
    """
    from kgbench import files
    from kgbench.exports import inspect_log

    found = source.read(run)
    logs = inspect_log.logs(found)
    for name, log in logs.items():
        files.write(place / name, outgoing.indented(log))
    counts = {"logs": len(logs), "dialogues": sum(len(log["samples"]) for log in logs.values())}
    outgoing.report(place, counts, json_=json_)


@grouped
def prov(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|DIALOGUE]",
            help="A run's id, IRI or label, or a dialogue's IRI; default: the newest run.",
            autocompletion=completing.runs,
        ),
    ] = None,
    *,
    form: Annotated[
        ProvFormat, typer.Option("--format", help="How it is written; svg and png are drawings.")
    ] = ProvFormat.PROVN,
    source: Source,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export where a run or a dialogue comes from, as PROV-N, PROV-JSON, PROV-XML or PROV-O."""
    outgoing.check_place(out, json_=json_)
    outgoing.needs("prov", *_NEEDED.get(form, ()))
    from kgbench.exports import prov_document, prov_drawing

    found = source.read(name)
    if form in (ProvFormat.SVG, ProvFormat.PNG):
        drawn = prov_drawing.drawing(found)
        draw = prov_drawing.svg if form is ProvFormat.SVG else prov_drawing.png
        outgoing.write(draw(drawn), out)
        outgoing.report(out, {"boxes": len(drawn.nodes), "arrows": len(drawn.arrows)}, json_=json_)
        return
    document = prov_document.document(found)
    outgoing.write(prov_document.serialised(document, str(form)), out)
    outgoing.report(out, {"records": len(list(document.get_records()))}, json_=json_)


def wide_table(
    run: Run = None,
    *,
    form: Annotated[
        TableFormat, typer.Option("--format", "-f", help="How the table is written.")
    ] = TableFormat.CSV,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Annotated[
        options.Redact | None,
        typer.Option(
            "--redact",
            help="What is left out. Default: reference answers, and of a protected suite every "
            "text.",
        ),
    ] = None,
    unprotected: options.Unprotected = None,
    guard: options.Guard = False,
    crlf: options.Crlf = False,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export one row for each dialogue: a column for each score and info, and the last answer."""
    outgoing.check_place(out, json_=json_)
    if form in (TableFormat.PARQUET, TableFormat.ARROW):
        outgoing.needs("pyarrow", extra="tables")
    from kgbench.analysis.rendering import as_csv, render
    from kgbench.analysis.xlsx import as_xlsx
    from kgbench.cli.tables import tell_guarded
    from kgbench.exports import wide_table as exporting
    from kgbench.publish.withholding import Level

    found = outgoing.read(outgoing.wanted_run(run, choice, redact, unprotected), store)
    table = exporting.wide_table(found)
    if guard:
        table, changed = table.spreadsheet_safe()
        tell_guarded(changed)
    writers: dict[TableFormat, Callable[[Table], bytes]] = {
        TableFormat.CSV: lambda made: as_csv(made, "\r\n" if crlf else "\n").encode("utf-8"),
        TableFormat.JSON: lambda made: render(made, "json").encode("utf-8"),
        TableFormat.XLSX: as_xlsx,
        TableFormat.PARQUET: exporting.as_parquet,
        TableFormat.ARROW: exporting.as_arrow,
    }
    outgoing.write(writers[form](table), out)
    if redact is None and found.level is Level.ANSWERS:
        typer.echo(
            "the suite is protected: texts are left out (--unprotected SUITE tells them)", err=True
        )
    outgoing.report(out, {"dialogues": len(table.rows), "columns": len(table.columns)}, json_=json_)


@grouped
def rocrate(
    run: Run = None,
    *,
    place: Place,
    source: Source,
    credit: Credit,
    json_: options.AsJson = False,
) -> None:
    """Export a run as an RO-Crate 1.3: a folder, or an archive where its name ends in .zip."""
    outgoing.needs("rocrate")
    from kgbench.exports import ro_crate

    describing = ro_crate.Describing(credit.licence_iri(), credit.agents())
    found = source.read(run)
    count = ro_crate.write(found, place, describing)
    outgoing.report(place, {"files": count, "dialogues": len(found.dialogues)}, json_=json_)


@grouped
def croissant(
    run: Run = None,
    *,
    place: Place,
    source: Source,
    credit: Credit,
    json_: options.AsJson = False,
) -> None:
    """Export the scores of a run as a Croissant data set, with a view as Croissant Tasks."""
    from kgbench.exports import croissant as exporting

    of_data, made_by = credit.licence_iri(), credit.agents()
    found = source.read(run)
    files = exporting.write(found, place, of_data, made_by)
    outgoing.report(place, {"files": len(files), "dialogues": len(found.dialogues)}, json_=json_)


@grouped
def notebook(
    run: Run = None,
    *,
    place: Place,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="PLACE",
            help="Published N-Quads (.nq, .nq.gz, .nq.zst) to ask, as an address or a path; "
            "without it, those of the run are written beside the notebook.",
        ),
    ] = None,
    source: Source,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a Jupyter notebook that asks its published data the declared questions."""
    from kgbench.exports import notebook as exporting

    found = source.read(run)
    files = exporting.write(found, place, data)
    outgoing.report(place, {"files": len(files), "dialogues": len(found.dialogues)}, json_=json_)


def eee(
    run: Run = None,
    *,
    place: Place,
    store: options.Store = None,
    choice: options.Pass = "first",
    organisation: Annotated[
        str, typer.Option("--organisation", metavar="NAME", help="Who made the evaluation.")
    ] = "unknown",
    relation: Annotated[
        Relation,
        typer.Option("--relation", help="What the evaluator is to the makers of the models."),
    ] = Relation.OTHER,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", metavar="FILE", help="The official JSON schema to check against, not ours."
        ),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option(
            "--samples", help="Write each dialogue, too: prompts, answers, tool calls, scores."
        ),
    ] = False,
    unprotected: options.Unprotected = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as records of Every Eval Ever 0.3: scores by model and task, no texts.

    With --samples also its instance-level records, without reference answers.
    """
    from datetime import UTC, datetime

    outgoing.needs("jsonschema")
    from kgbench import files
    from kgbench.exports import every_eval_ever, every_eval_samples
    from kgbench.exports.judge_scores import judge_cells
    from kgbench.record import reading
    from kgbench.store import open_reader

    level = options.Redact.GOLD if samples else options.Redact.ANSWERS
    wanted = outgoing.wanted_run(run, choice, level, unprotected)
    found = outgoing.read(wanted, store)
    with open_reader(store) as opened:
        judged = judge_cells(opened, found, reading.find_run(opened, wanted.run).iri)
    now = datetime.now(UTC)
    records = every_eval_ever.records(found, organisation, str(relation), now, judged)
    detailed = every_eval_samples.with_samples(found, records) if samples else {}
    every_eval_ever.check(records, schema)
    counts = {"records": len(records)}
    for path, content in detailed.items():
        rows = {str(k): json.loads(row) for k, row in enumerate(content.splitlines())}
        every_eval_ever.check(rows, None, every_eval_ever.SAMPLES)
        files.write(place / path, content)
        counts["samples"] = counts.get("samples", 0) + len(rows)
    for path, record in records.items():
        files.write(place / path, outgoing.indented(record))
    outgoing.report(place, counts, json_=json_)
