# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve``: a SPARQL endpoint and Linked Data pages over a store."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kgbench.cli import options

TOKEN = "KGBENCH_SERVE_TOKEN"  # noqa: S105 - the name of a variable


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("serve")(serve)


def serve(
    store: options.Store = None,
    *,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)
    ] = 8080,
    base: Annotated[
        str | None, typer.Option(metavar="IRI", help="The IRI prefix to serve below the root.")
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The root as clients reach it, behind a proxy."),
    ] = None,
    redirect: Annotated[
        bool, typer.Option("--redirect", help="Answer IRIs with 303 to their documents.")
    ] = False,
    union: Annotated[
        bool,
        typer.Option("--union/--no-union", help="Whether the default graph is that of all graphs."),
    ] = True,
    update: Annotated[
        bool,
        typer.Option("--update", help=f"Own the store; permit updates with the token in {TOKEN}."),
    ] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="The time limit of a query.", min=0.1)
    ] = 30.0,
    rows: Annotated[int, typer.Option(help="The most rows of an answer.", min=1)] = 1_000_000,
    memory: Annotated[
        int, typer.Option(metavar="MIB", help="The memory limit of a query.", min=256)
    ] = 2048,
    heavy: Annotated[
        int, typer.Option(help="How many heavy queries may run at a time.", min=1)
    ] = 2,
    workers: Annotated[int, typer.Option(help="Workers for quick queries.", min=1)] = 3,
) -> None:
    """Serve a store: SPARQL 1.1 endpoint, Linked Data, pages. Ends with Ctrl-C or SIGTERM."""
    from kgbench.cli.wording import missing
    from kgbench.errors import ConfigurationError, Finding
    from kgbench.store import default_location, embedded_only
    from kgbench.vocab import BASE

    token = os.environ.get(TOKEN) or None if update else None
    if update and token is None:
        message = f"updates need a token: set {TOKEN} to a long secret"
        raise ConfigurationError([Finding("kgbench serve", "/update", message)])
    try:
        from kgbench.serve.settings import Limits, Settings
        from kgbench.serve.starting import start
    except ModuleNotFoundError as error:
        raise missing(error, "serve") from None
    location = store or default_location()
    embedded_only(location, "serving")
    limits = Limits(
        seconds=timeout, rows=rows, memory_bytes=memory << 20, heavy=heavy, quick=workers
    )
    settings = Settings(
        location=location,
        base=base or BASE,
        public=public,
        union=union,
        redirect=redirect,
        token=token,
        limits=limits,
    )
    start(settings, host, port)
