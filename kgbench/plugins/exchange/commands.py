# SPDX-License-Identifier: Apache-2.0
"""The subcommands of ``kgbench export`` that write formats of other communities."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgbench.api import ExportFile, ExportRun, ExportSource, grouped
from kgbench.cli import export, options
from kgbench.cli.export import Credit, OutFolder


class ProvFormat(StrEnum):
    """Formats of provenance."""

    PROVN = "provn"
    JSON = "json"
    XML = "xml"
    RDF = "rdf"


class Relation(StrEnum):
    """Relation of the evaluator to the developers of the models."""

    FIRST = "first_party"
    THIRD = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


@grouped
def llm_kg_bench(
    run: ExportRun = None,
    *,
    source: ExportSource,
    out: ExportFile = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a result file of LLM-KG-Bench 3 (JSON).

    With --redact none, importing the file gives the same dialogues and scores.
    """
    from kgbench.plugins.exchange import llm_kg_bench as exporting

    export.check_destination(out, json_=json_)
    records, unanswered = exporting.records(source.read(run))
    export.write(export.indented_json(records), out)
    export.report_written(out, {"records": len(records), "without_answer": unanswered}, json_=json_)


@grouped
def prov(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|DIALOGUE]",
            help="A run's id, IRI or label, or a dialogue's IRI; default: the newest run that is "
            "not of judges.",
            autocompletion=options.complete_runs,
        ),
    ] = None,
    *,
    form: Annotated[ProvFormat, typer.Option("--format", help="The output format.")] = (
        ProvFormat.PROVN
    ),
    source: ExportSource,
    out: ExportFile = None,
    json_: options.AsJson = False,
) -> None:
    """Export the provenance of a run or dialogue as PROV-N, PROV-JSON, PROV-XML or PROV-O."""
    export.check_destination(out, json_=json_)
    export.require_packages("prov", *(["lxml"] if form is ProvFormat.XML else []))
    from kgbench.plugins.exchange import prov_document

    results = source.read(name)
    document = prov_document.document(results, str(form))
    export.write(prov_document.serialised(document, str(form)), out)
    export.report_written(out, {"records": len(list(document.get_records()))}, json_=json_)


@grouped
def rocrate(
    run: ExportRun = None,
    *,
    folder: OutFolder,
    source: ExportSource,
    credit: Credit,
    json_: options.AsJson = False,
) -> None:
    """Export a run as an RO-Crate 1.3: a folder, or an archive if the name ends in .zip."""
    export.require_packages("rocrate")
    from kgbench.plugins.exchange import ro_crate

    licence, creators = credit.licence_iri(), credit.agents()
    results = source.read(run)
    counts = {"files": ro_crate.write(results, folder, licence, creators)}
    counts["dialogues"] = len(results.dialogues)
    export.report_written(folder, counts, json_=json_)


@grouped
def croissant(
    run: ExportRun = None,
    *,
    folder: OutFolder,
    source: ExportSource,
    credit: Credit,
    json_: options.AsJson = False,
) -> None:
    """Export the scores of a run as a Croissant data set."""
    from kgbench.plugins.exchange import croissant as exporting

    of_data, made_by = credit.licence_iri(), credit.agents()
    results = source.read(run)
    files = exporting.write(results, folder, of_data, made_by)
    export.report_written(
        folder, {"files": len(files), "dialogues": len(results.dialogues)}, json_=json_
    )


@grouped
def notebook(
    run: ExportRun = None,
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
    source: ExportSource,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a Jupyter notebook that runs the declared queries on its published data."""
    from kgbench.plugins.exchange import notebook as exporting

    results = source.read(run)
    files = exporting.write(results, folder, data)
    export.report_written(
        folder, {"files": len(files), "dialogues": len(results.dialogues)}, json_=json_
    )


def eee(
    run: ExportRun = None,
    *,
    folder: OutFolder,
    store: options.Store = None,
    pass_: options.Pass = options.FIRST,
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
    unprotected: options.Unprotected = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as records of Every Eval Ever 0.3: scores by model and task, without texts."""
    export.require_packages("jsonschema")
    from kgbench import files
    from kgbench.plugins.exchange import every_eval_ever

    level = options.Redact.ANSWERS
    results = export.read(export.run_selection(run, pass_, level, unprotected), store)
    records = every_eval_ever.records(results, organisation, str(relation), datetime.now(UTC))
    every_eval_ever.check(records, schema)
    for path, record in records.items():
        files.write(folder / path, export.indented_json(record))
    export.report_written(folder, {"records": len(records)}, json_=json_)


def nanopublications(
    site: Annotated[Path, typer.Argument(metavar="DIR", help="A published folder.")],
    *,
    key: Annotated[
        Path, typer.Option("--key", metavar="KEYFILE", help="An RSA key (kgbench keys new --rsa).")
    ],
    creator: Annotated[
        str, typer.Option("--creator", metavar="NAME", help="The publisher, as 'Name <IRI>'.")
    ],
    folder: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ],
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence", "--license", metavar="SPDX", help="An SPDX identifier or an IRI."
        ),
    ] = None,
) -> None:
    """Export each claim of a published folder as a signed nanopublication with a trusty IRI.

    Nothing is sent to a server.
    """
    from kgbench.cli.printing import count, missing_package
    from kgbench.plugins.exchange import nanopublications as exporting
    from kgbench.publish import settings

    author = settings.agent(creator)
    licence_iri = None if licence is None else settings.licence(licence)
    try:
        documents = dict(
            exporting.nanopublications(site, key, author, licence_iri, datetime.now(UTC))
        )
        for content in documents.values():
            exporting.verified(content)
    except ModuleNotFoundError as error:
        raise missing_package(error, "nanopub") from None
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in documents.items():
        (folder / f"{name}.trig").write_bytes(content)
    typer.echo(f"{count(len(documents), 'nanopublication')} in {folder}")
