# SPDX-License-Identifier: Apache-2.0
"""``kgbench mcp``: tools for other programs by the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

import kgbench.api as kb
from kgbench.cli.option_groups import Cors, Listening, QueryLimits

PANEL = "Show to others"
_OF_HTTP = frozenset(("host", "port", "public", "cors"))


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("mcp")(mcp)


@kb.grouped
def mcp(
    context: typer.Context,
    *,
    store: kb.StoreOption = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="TASK|FILE",
            help="Offer one graph instead of a store: that of a task with tools (its label), or a "
            "file (.ttl, .nt).",
        ),
    ] = None,
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Serve one client over stdin and stdout instead of many over HTTP."
        ),
    ] = False,
    listening: Listening,
    cors: Cors = None,
    limits: QueryLimits,
) -> None:
    """Offer a store or a graph as tools, by the Model Context Protocol. Stop with Ctrl-C.

    Other programs, such as desktop assistants, use the tools at /mcp, beside the pages of the
    store.
    """
    if graph is not None:
        _refuse_given(context, frozenset(("store",)), "it cannot be used with --graph")
    if stdio:
        _refuse_given(context, _OF_HTTP, "it cannot be used with --stdio")
    from kgbench.cli.printing import missing_package
    from kgbench.store import default_location, embedded_only

    try:
        from kgbench.plugins.agents import mcp_server as startup
        from kgbench.serve.startup import host_names
    except ModuleNotFoundError as error:
        raise missing_package(error, "mcp") from None
    location = store or default_location()
    if graph is None:
        embedded_only(location, "serving")
    settings = kb.PageSettings(
        location=location,
        public=listening.public,
        cors=cors,
        hosts=host_names(listening.host, listening.public),
        limits=limits.limits(),
    )
    if stdio:
        startup.over_stdio(settings, graph)
    else:
        startup.over_http(settings, graph, listening.host, listening.port)


def _refuse_given(context: typer.Context, names: frozenset[str], reason: str) -> None:
    """Refuse the options with these names that the command line gives, for ``reason``."""
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name in names and source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(reason, param_hint=max(param.opts, key=len))
