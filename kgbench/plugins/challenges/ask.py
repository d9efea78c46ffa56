# SPDX-License-Identifier: Apache-2.0
"""``kgbench ask``: a model answers questions about data sets, for other programs."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import kgbench.api as kb
from kgbench.cli import options
from kgbench.cli.option_groups import TOKEN, Budget, Listening, Permissions
from kgbench.cli.printing import missing_package

PANEL = "Show to others"
CALL_TIMEOUT = 600.0  # seconds; the TEXT2SPARQL challenge of 2025 waits as long


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("ask")(ask)


@kb.grouped
def ask(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A model, as for run.", autocompletion=options.complete_models
        ),
    ],
    listening: Listening,
    open_: Annotated[
        bool,
        typer.Option("--open", help=f"Answer everybody, without the token in {TOKEN}."),
    ] = False,
    budget: Budget,
    permissions: Permissions,
    store: kb.StoreOption = None,
) -> None:
    """Serve a model by the protocol of the TEXT2SPARQL challenge. Stop with Ctrl-C.

    The model answers questions about installed data sets with queries.
    """
    from kgbench.config import model_setup
    from kgbench.engine.spending import Limits, Spending, declared_prices, is_paid
    from kgbench.store import default_location

    setup = model_setup(model)
    permissions.require([setup])
    try:
        from kgbench.plugins.challenges.question_answering import application, datasets
        from kgbench.serve.startup import host_names, is_local, run, server
    except ModuleNotFoundError as error:
        raise missing_package(error, "serve") from None
    data_sets = datasets()
    if not data_sets:
        raise kb.TaskError(
            "no data set with questions is installed: 'kgbench datasets install ck25' installs one"
        )
    token = None if open_ else os.environ.get(TOKEN) or None
    if token is None and not open_ and not is_local(listening.host, listening.public):
        raise typer.BadParameter(
            f"other machines could ask {setup.label} at your expense: set {TOKEN} to a long secret "
            "that each question carries as a bearer token, or answer everybody with --open",
            param_hint="--open",
        )
    known = declared_prices(budget.prices)
    limits = Limits(budget.usd, budget.max_tokens)
    if limits == Limits() and is_paid(setup, known):
        raise typer.BadParameter(
            f"{setup.label} costs money: give the US dollars that its answers may cost",
            param_hint="--max-cost",
        )
    spending = Spending([setup], known, {}, {}, limits, batched=())
    settings = kb.PageSettings(
        location=store or default_location(),
        public=listening.public,
        hosts=host_names(listening.host, listening.public),
        token=token,
    )
    served = application(
        settings,
        setup,
        CALL_TIMEOUT,
        spending=spending,
        requests_per_minute=budget.requests_per_minute,
    )
    banner = (
        f"serving {setup.label} about {', '.join(sorted(data_sets))}\nasked at {{url}}text2sparql\n"
    )
    run(server(settings, served), banner, listening.host, listening.port)
