# SPDX-License-Identifier: Apache-2.0
"""Opening a result store: :func:`kgbench.open`."""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.api.connection import Connection
from kgbench.api.results import Results
from kgbench.scores.selection import ALL, FIRST


def open(  # noqa: A001 - the public name is kgbench.open
    location: str | None = None,
    *,
    suite: str | None = None,
    pass_: str = FIRST,
    run: str | None = None,
    tasks: str = ALL,
    models: str | Sequence[str] = ALL,
) -> Results:
    """Open the results in a store; another process may write to it at the same time.

    The first run creates a store.

    Args:
        location: A folder, ``memory:`` or the URL of a SPARQL server; default: as on the command
            line.
        suite: As for :meth:`kgbench.Results.select`, like the other selectors.
        pass_: The evaluation pass to use: ``first``, ``latest`` or an IRI.
        run: Id, IRI or label of the only run to use.
        tasks: Glob over task labels.
        models: Glob over model ids or names, or several.

    >>> results = kgbench.open("kgbench-results", models="*oracle")
    >>> results.leaderboard().column("score")
    [1.0]
    """
    return Results(
        Connection(location), suite=suite, pass_=pass_, run=run, tasks=tasks, models=models
    )
