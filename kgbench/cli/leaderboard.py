# SPDX-License-Identifier: Apache-2.0
"""``kgbench leaderboard``: short for ``kgbench analyze leaderboard``."""

from __future__ import annotations

import typer

from kgbench.analysis.index import INDEX
from kgbench.cli.analyze import AnalysisCommand


def command(app: typer.Typer) -> None:
    """Register the command."""
    name = "leaderboard"
    app.command(name, help=INDEX[name].summary)(AnalysisCommand(name))
