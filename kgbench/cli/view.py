# SPDX-License-Identifier: Apache-2.0
"""``kgbench view``: the pages of a store in a browser on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from kgbench.cli import options


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("view")(view)


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

    from kgbench.cli.messages import missing_package
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
