# SPDX-License-Identifier: Apache-2.0
"""Opening a result store: :func:`kgbench.open`."""

from __future__ import annotations

from kgbench.analysis.selection import ALL, FIRST
from kgbench.api.connection import Connection
from kgbench.api.results import Results


def open(  # noqa: A001 - the word people expect: kgbench.open(store)
    location: str | None = None,
    *,
    suite: str | None = None,
    choice: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str = ALL,
) -> Results:
    """The results in a store, read beside whoever writes it.

    ``location`` is a folder, ``memory:`` or the URL of a SPARQL server; the default is that of the
    command line. A store is made by the first run. The selectors are those of
    :meth:`kgbench.Results.select`.

    >>> results = kgbench.open("kgbench-results", models="*oracle")
    >>> results.leaderboard().column("score")
    [1.0]
    """
    return Results(
        Connection(location), suite=suite, choice=choice, run=run, tasks=tasks, models=models
    )
