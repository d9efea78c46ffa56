# SPDX-License-Identifier: Apache-2.0
"""``kgbench leaderboard``: short for ``kgbench analyze leaderboard``."""

from __future__ import annotations

import typer

from kgbench.cli.analyze import command_of


def command(app: typer.Typer) -> None:
    """Register the command."""
    from kgbench.analysis.analyses import leaderboard

    command_of(leaderboard, app)
