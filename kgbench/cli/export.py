# SPDX-License-Identifier: Apache-2.0
"""``kgbench export``: write a run in the formats of other communities."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import completion, export_nanopublications, export_options, options
from kgbench.cli.export_options import Credit, Source
from kgbench.cli.option_groups import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgbench.analysis.tables import Table


Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: the newest that is not of judges.",
        autocompletion=completion.runs,
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


class ProvFormat(StrEnum):
    """Formats of provenance."""

    PROVN = "provn"
    JSON = "json"
    XML = "xml"
    RDF = "rdf"
    SVG = "svg"
    PNG = "png"


class TableFormat(StrEnum):
    """Formats of the wide table."""

    CSV = "csv"
    XLSX = "xlsx"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"


class Relation(StrEnum):
    """Relation of the evaluator to the developers of the models."""

    FIRST = "first_party"
    THIRD = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    group = typer.Typer(help="Write a run in another community's format.", no_args_is_help=True)
    group.callback()(_several)
    for function in (prov, rocrate, croissant, eee, notebook):
        group.command(function.__name__)(function)
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

    export_options.check_destination(out, json_=json_)
    records, unanswered = exporting.records(source.read(run))
    export_options.write(export_options.indented_json(records), out)
    export_options.report(out, {"records": len(records), "without_answer": unanswered}, json_=json_)


@grouped
def inspect_logs(
    run: Run = None,
    *,
    folder: OutFolder,
    source: Source,
    json_: options.AsJson = False,
) -> None:
    """Export a run as logs of Inspect AI, one for each model and task, with tool calls.

    Importing them gives the same prompts, answers, tool calls and scores.
    """
    from kgbench import files
    from kgbench.exports import inspect_log

    results = source.read(run)
    logs = inspect_log.logs(results)
    for name, log in logs.items():
        files.write(folder / name, export_options.indented_json(log))
    counts = {"logs": len(logs), "dialogues": sum(len(log["samples"]) for log in logs.values())}
    export_options.report(folder, counts, json_=json_)


@grouped
def prov(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|DIALOGUE]",
            help="A run's id, IRI or label, or a dialogue's IRI; default: the newest run that is "
            "not of judges.",
            autocompletion=completion.runs,
        ),
    ] = None,
    *,
    form: Annotated[
        ProvFormat, typer.Option("--format", help="The output format; svg and png are drawings.")
    ] = ProvFormat.PROVN,
    source: Source,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export the provenance of a run or dialogue as PROV-N, PROV-JSON, PROV-XML or PROV-O."""
    export_options.check_destination(out, json_=json_)
    export_options.require_packages("prov", *_NEEDED.get(form, ()))
    from kgbench.exports import prov_document, prov_drawing

    results = source.read(name)
    if form in (ProvFormat.SVG, ProvFormat.PNG):
        drawn = prov_drawing.drawing(results)
        draw = prov_drawing.svg if form is ProvFormat.SVG else prov_drawing.png
        export_options.write(draw(drawn), out)
        export_options.report(
            out, {"boxes": len(drawn.nodes), "arrows": len(drawn.arrows)}, json_=json_
        )
        return
    document = prov_document.document(results, str(form))
    export_options.write(prov_document.serialised(document, str(form)), out)
    export_options.report(out, {"records": len(list(document.get_records()))}, json_=json_)


def wide_table(
    run: Run = None,
    *,
    form: Annotated[
        TableFormat, typer.Option("--format", "-f", help="Format of the table.")
    ] = TableFormat.CSV,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Annotated[
        options.Redact | None,
        typer.Option(
            "--redact",
            help="What to leave out. Default: reference answers, and all texts of protected "
            "suites.",
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
    from kgbench.analysis.rendering import as_csv, render
    from kgbench.analysis.xlsx import as_xlsx
    from kgbench.cli.tables import report_guarded
    from kgbench.exports import wide_table as exporting
    from kgbench.publish.redaction import RedactionLevel

    results = export_options.read(
        export_options.run_selection(run, choice, redact, unprotected), store
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


@grouped
def rocrate(
    run: Run = None,
    *,
    folder: OutFolder,
    source: Source,
    credit: Credit,
    json_: options.AsJson = False,
) -> None:
    """Export a run as an RO-Crate 1.3: a folder, or an archive if the name ends in .zip."""
    export_options.require_packages("rocrate")
    from kgbench.exports import ro_crate

    describing = ro_crate.CrateMetadata(credit.licence_iri(), credit.agents())
    results = source.read(run)
    count = ro_crate.write(results, folder, describing)
    export_options.report(
        folder, {"files": count, "dialogues": len(results.dialogues)}, json_=json_
    )


@grouped
def croissant(
    run: Run = None,
    *,
    folder: OutFolder,
    source: Source,
    credit: Credit,
    json_: options.AsJson = False,
) -> None:
    """Export the scores of a run as a Croissant data set, with a view as Croissant Tasks."""
    from kgbench.exports import croissant as exporting

    of_data, made_by = credit.licence_iri(), credit.agents()
    results = source.read(run)
    files = exporting.write(results, folder, of_data, made_by)
    export_options.report(
        folder, {"files": len(files), "dialogues": len(results.dialogues)}, json_=json_
    )


@grouped
def notebook(
    run: Run = None,
    *,
    folder: OutFolder,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="PLACE",
            help="Published N-Quads (.nq, .nq.gz, .nq.zst) to query, as a URL or path. Default: "
            "those of the run, written beside the notebook.",
        ),
    ] = None,
    source: Source,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a Jupyter notebook that runs the declared queries on its published data."""
    from kgbench.exports import notebook as exporting

    results = source.read(run)
    files = exporting.write(results, folder, data)
    export_options.report(
        folder, {"files": len(files), "dialogues": len(results.dialogues)}, json_=json_
    )


def eee(
    run: Run = None,
    *,
    folder: OutFolder,
    store: options.Store = None,
    choice: options.Pass = "first",
    organisation: Annotated[
        str, typer.Option("--organisation", metavar="NAME", help="The evaluating organisation.")
    ] = "unknown",
    relation: Annotated[
        Relation,
        typer.Option("--relation", help="Relation of the evaluator to the models' developers."),
    ] = Relation.OTHER,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Validate against this JSON schema, not the bundled one.",
        ),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option(
            "--samples", help="Also write each dialogue: prompts, answers, tool calls, scores."
        ),
    ] = False,
    unprotected: options.Unprotected = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as records of Every Eval Ever 0.3: scores by model and task, without texts.

    With --samples, instance-level records are written as well, without reference answers.
    """
    from datetime import UTC, datetime

    export_options.require_packages("jsonschema")
    from kgbench import files
    from kgbench.exports import every_eval_ever, every_eval_samples
    from kgbench.exports.judge_scores import judge_cells
    from kgbench.exports.outgoing_run import selected_run
    from kgbench.store import open_reader

    level = options.Redact.GOLD if samples else options.Redact.ANSWERS
    wanted = export_options.run_selection(run, choice, level, unprotected)
    results = export_options.read(wanted, store)
    with open_reader(store) as opened:
        judged = judge_cells(opened, results, selected_run(opened, wanted).iri)
    now = datetime.now(UTC)
    records = every_eval_ever.records(results, organisation, str(relation), now, judged)
    detailed = every_eval_samples.with_samples(results, records) if samples else {}
    every_eval_ever.check(records, schema)
    counts = {"records": len(records)}
    for path, content in detailed.items():
        rows = {str(k): json.loads(row) for k, row in enumerate(content.splitlines())}
        every_eval_ever.check(rows, None, every_eval_ever.SAMPLES)
        files.write(folder / path, content)
        counts["samples"] = counts.get("samples", 0) + len(rows)
    for path, record in records.items():
        files.write(folder / path, export_options.indented_json(record))
    export_options.report(folder, counts, json_=json_)
