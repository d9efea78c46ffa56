# SPDX-License-Identifier: Apache-2.0
"""``kgbench review``: what people have decided, as files out of a store and into one."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import completing, options
from kgbench.cli.tables import Form, write
from kgbench.cli.wording import count

_RDF = {".trig": "TRIG", ".nq": "N_QUADS", ".jsonld": "JSON_LD"}


class Written(StrEnum):
    """The forms of an export."""

    CSV = "csv"
    TRIG = "trig"
    JSON = "json"
    TABLE = "table"


def command(app: typer.Typer) -> None:
    """Register the command."""
    review = typer.Typer(
        help="What people have decided about dialogues; they decide on `kgbench serve --review`.",
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
            help="The run that was judged: its id, IRI or label; default: all.",
            autocompletion=completing.runs,
        ),
    ] = None,
    form: Annotated[
        Written, typer.Option("--format", "-f", help="How the verdicts are written.")
    ] = Written.CSV,
    reviewer: Annotated[
        str | None, typer.Option("--reviewer", metavar="NAME", help="Only those of this reviewer.")
    ] = None,
    out: options.TableFile = None,
    guard: options.Guard = False,
    store: options.Store = None,
) -> None:
    """Write the verdicts of people, earlier ones that they have revised included."""
    from kgbench import files
    from kgbench.errors import StoreError
    from kgbench.exports import reviews as exported
    from kgbench.record import reading
    from kgbench.record import reviews as record
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        judged = None if run is None else reading.find_run(opened, run).iri
        found = record.reviews(opened, judged)
        if reviewer is not None:
            found = [one for one in found if one.reviewer == reviewer]
        if not found:
            raise StoreError("no person has given such a verdict: `kgbench serve --review` asks")
        if form is Written.TRIG:
            text = exported.trig(opened, found)
            if out is None:
                typer.echo(text, nl=False)
            else:
                files.write(out, text)
                typer.echo(f"wrote {out}", err=True)
            return
    write(exported.table(found), Form(form.value), out, guard=guard)


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
    """Import verdicts of people about dialogues in the store; twice changes nothing."""
    import pyoxigraph as ox

    from kgbench.errors import StoreError
    from kgbench.importers import reviews as importing
    from kgbench.store import open_existing

    if file.suffix not in (".csv", *_RDF):
        raise StoreError(f"{file}: a file of verdicts ends in {', '.join(('.csv', *_RDF))}")
    if file.stat().st_size > importing.LARGEST:
        raise StoreError(f"{file} is larger than {importing.LARGEST >> 20} MiB")
    data = file.read_bytes()
    with open_existing(store) as opened:
        try:
            if file.suffix in _RDF:
                found = importing.from_rdf(data, getattr(ox.RdfFormat, _RDF[file.suffix]))
            else:
                found = importing.from_csv(opened, data.decode("utf-8"))
            done = importing.imported(opened, found)
        except UnicodeDecodeError:
            raise StoreError(f"{file} is not in UTF-8") from None
        except StoreError as error:
            raise StoreError(f"{file}: {error}") from None
    if json_:
        said = {"added": done.added, "known": done.known, "reviewers": done.reviewers}
        typer.echo(json.dumps(said, indent=2))
        return
    who = f" by {', '.join(done.reviewers)}" if done.reviewers else ""
    typer.echo(f"{count(done.added, 'new verdict')}{who}, {done.known:,} known before")
