# SPDX-License-Identifier: Apache-2.0
"""``kgbench review``: export and import the verdicts of human reviewers."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import completion, options
from kgbench.cli.messages import count
from kgbench.cli.tables import Form, write

_RDF = {".trig": "TRIG", ".nq": "N_QUADS", ".jsonld": "JSON_LD"}


class Written(StrEnum):
    """File formats of exported verdicts."""

    CSV = "csv"
    TRIG = "trig"
    JSON = "json"
    TABLE = "table"


def command(app: typer.Typer) -> None:
    """Register the command."""
    review = typer.Typer(
        help="Export and import verdicts of human reviewers (`kgbench serve --review`).",
        no_args_is_help=True,
    )
    review.command("export")(export)
    review.command("import")(import_)
    app.add_typer(review, name="review")


def export(
    *,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The judged run: its id, IRI or label. Default: all.",
            autocompletion=completion.runs,
        ),
    ] = None,
    form: Annotated[
        Written, typer.Option("--format", "-f", help="Format of the verdicts.")
    ] = Written.CSV,
    reviewer: Annotated[
        str | None,
        typer.Option("--reviewer", metavar="NAME", help="Only verdicts of this reviewer."),
    ] = None,
    out: options.TableFile = None,
    guard: options.Guard = False,
    store: options.Store = None,
) -> None:
    """Export the verdicts of human reviewers, including revised ones."""
    from kgbench import files
    from kgbench.errors import StoreError
    from kgbench.exports import reviews as formats
    from kgbench.record import reading
    from kgbench.record import reviews as record
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        judged = None if run is None else reading.find_run(opened, run).iri
        verdicts = record.reviews(opened, judged)
        if reviewer is not None:
            verdicts = [verdict for verdict in verdicts if verdict.reviewer == reviewer]
        if not verdicts:
            raise StoreError(
                "there are no such verdicts of people: collect them with `kgbench serve --review`"
            )
        if form is Written.TRIG:
            text = formats.trig(opened, verdicts)
            if out is None:
                typer.echo(text, nl=False)
            else:
                files.write(out, text)
                typer.echo(f"wrote {out}", err=True)
            return
    write(formats.table(verdicts), Form(form.value), out, guard=guard)


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="CSV with the columns of an export, or TriG, N-Quads or JSON-LD."
        ),
    ],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import verdicts of human reviewers. Importing them again changes nothing."""
    import pyoxigraph as ox

    from kgbench.errors import StoreError
    from kgbench.importers import reviews as importing
    from kgbench.store import open_existing

    if file.suffix not in (".csv", *_RDF):
        raise StoreError(f"{file}: a file of verdicts must end in {', '.join(('.csv', *_RDF))}")
    if file.stat().st_size > importing.MAX_BYTES:
        raise StoreError(f"{file} is larger than {importing.MAX_BYTES >> 20} MiB")
    data = file.read_bytes()
    with open_existing(store) as opened:
        try:
            if file.suffix in _RDF:
                verdicts = importing.from_rdf(data, getattr(ox.RdfFormat, _RDF[file.suffix]))
            else:
                verdicts = importing.from_csv(opened, data.decode("utf-8"))
            result = importing.import_reviews(opened, verdicts)
        except UnicodeDecodeError:
            raise StoreError(f"{file} is not in UTF-8") from None
        except StoreError as error:
            raise StoreError(f"{file}: {error}") from None
    if json_:
        report = {"added": result.added, "known": result.known, "reviewers": result.reviewers}
        typer.echo(json.dumps(report, indent=2))
        return
    who = f" by {', '.join(result.reviewers)}" if result.reviewers else ""
    typer.echo(f"{count(result.added, 'new verdict')}{who}, {result.known:,} known before")
