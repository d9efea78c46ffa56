# SPDX-License-Identifier: Apache-2.0
"""Opening a result store: :func:`kgbench.open`."""

from __future__ import annotations

from kgbench.analysis.selection import ALL, FIRST
from kgbench.api.connection import Connection
from kgbench.api.results import Results


def open(  # noqa: A001 - the public name is kgbench.open
    location: str | None = None,
    *,
    suite: str | None = None,
    choice: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str = ALL,
) -> Results:
    """Open the results in a store; another process may write to it at the same time.

    ``location`` is a folder, ``memory:`` or the URL of a SPARQL server; the default is that of the
    command line. The first run creates a store. The selectors are those of
    :meth:`kgbench.Results.select`.

    >>> results = kgbench.open("kgbench-results", models="*oracle")
    >>> results.leaderboard().column("score")
    [1.0]
    """
    return Results(
        Connection(location), suite=suite, choice=choice, run=run, tasks=tasks, models=models
    )
