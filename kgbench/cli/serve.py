# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve`` and ``kgbench view``: a store as SPARQL endpoint and Linked Data pages."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kgbench.cli import options
from kgbench.cli.commands import grouped
from kgbench.cli.option_groups import TOKEN, Cors, Listening, QueryLimits, absolute


@grouped
def serve(
    *,
    store: options.Store = None,
    listening: Listening,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="IRI",
            help="The IRI prefix whose IRIs are served below the root.",
            callback=absolute,
        ),
    ] = None,
    cors: Cors = None,
    redirect: Annotated[
        bool, typer.Option("--redirect", help="Redirect IRIs to their documents with 303.")
    ] = False,
    union: Annotated[
        bool,
        typer.Option("--union/--no-union", help="Query the union of all graphs as default graph."),
    ] = True,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help=f"Open the store for writing; allow updates with the token in {TOKEN}."
        ),
    ] = False,
    limits: QueryLimits,
) -> None:
    """Serve a store: SPARQL 1.1 endpoint, Linked Data and pages. Stop with Ctrl-C or SIGTERM."""
    from kgbench.cli.printing import missing_package
    from kgbench.store import default_location, embedded_only
    from kgbench.vocab import BASE

    token = os.environ.get(TOKEN) or None if update else None
    if update and token is None:
        raise typer.BadParameter(
            f"updates need a token: set {TOKEN} to a long secret", param_hint="--update"
        )
    try:
        from kgbench.serve.settings import Settings
        from kgbench.serve.startup import host_names, start
    except ModuleNotFoundError as error:
        raise missing_package(error, "serve") from None
    location = store or default_location()
    embedded_only(location, "serving")
    settings = Settings(
        location=location,
        base=base or BASE,
        public=listening.public,
        union=union,
        redirect=redirect,
        token=token,
        cors=cors,
        hosts=host_names(listening.host, listening.public),
        limits=limits.limits(),
        ahead=True,
    )
    start(settings, listening.host, listening.port)


def view(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Open the page of this run (id, IRI or label); default: the newest."
        ),
    ] = None,
    *,
    store: options.Store = None,
) -> None:
    """Open the pages of a store in the browser, also while a run goes on. Stop with Ctrl-C."""
    import webbrowser

    from kgbench.cli.printing import missing_package
    from kgbench.record import reading
    from kgbench.store import default_location, embedded_only, open_reader
    from kgbench.vocab import BASE

    try:
        from kgbench.serve.settings import Settings
        from kgbench.serve.startup import host_names, start
    except ModuleNotFoundError as error:
        raise missing_package(error, "serve") from None
    location = store or default_location()
    embedded_only(location, "serving")
    with open_reader(location) as opened:
        page = reading.find_run(opened, run).iri.removeprefix(BASE)
    settings = Settings(location=location, hosts=host_names("127.0.0.1", None))
    start(settings, "127.0.0.1", 0, lambda url: webbrowser.open(f"{url}{page}"))
