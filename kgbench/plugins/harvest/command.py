# SPDX-License-Identifier: Apache-2.0
"""``kgbench harvest``: fetch and verify publications of other groups."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import options
from kgbench.cli.commands import end_after

PANEL = "Show to others"
_FOLDER = Path("kgbench-sources")


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("harvest")(harvest)


def harvest(
    addresses: Annotated[
        list[str],
        typer.Argument(metavar="URL|DIR...", help="URLs or folders of publications."),
    ],
    *,
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="The folder for harvested sources.")
    ] = _FOLDER,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="PUBLIC",
            help="A trusted public key, its file, or a list of keys (.keys); repeatable. Each "
            "source must be signed by one of these keys.",
        ),
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Also accept sources that were never signed.")
    ] = False,
    max_megabytes: options.MaxMegabytes = 8_192,
    seconds: options.Seconds = 3_600.0,
    json_: options.AsJson = False,
) -> None:
    """Harvest publications of other groups, for `kgbench analyze leaderboard --sources`.

    Signatures and checksums are verified before anything is stored. Only the given addresses are
    contacted. Harvesting again fetches what is new. Exits with 1 if a source is refused.
    """
    from kgbench.characters import visible
    from kgbench.plugins.harvest.harvester import harvest as harvested
    from kgbench.signing.key_list import KeyList

    end_after(seconds)
    keys = KeyList.given(key or ())
    outcomes = []
    for outcome in harvested(
        addresses,
        into,
        keys.usable,
        keys.revoked,
        max_bytes=max_megabytes << 20,
        seconds=seconds,
        unsigned=unsigned,
    ):
        outcomes.append(outcome)
        if not json_:
            typer.echo(visible(outcome.words))
    if json_:
        report = [
            {
                **outcome._asdict(),
                "found": None if outcome.found is None else asdict(outcome.found),
            }
            for outcome in outcomes
        ]
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
    if any(outcome.found is None for outcome in outcomes):
        raise typer.Exit(1)
