# SPDX-License-Identifier: Apache-2.0
"""Shell completion of names that are available without a server and without writing.

Errors are suppressed, because a shell cannot show messages while it completes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import typer

_MODELS = ("baseline:oracle", "baseline:noisy", "baseline:silent")


def tasks(incomplete: str) -> list[str]:
    """Complete task labels."""
    from kgbench.tasks import catalogue

    return _with_prefix(incomplete, catalogue.labelled_tasks())


def models(incomplete: str) -> list[str]:
    """Complete baseline models, and other connectors up to the colon."""
    from kgbench.connectors import names

    others = [f"{name}:" for name in names() if name != "baseline"]
    return _with_prefix(incomplete, [*_MODELS, *others])


def queries(incomplete: str) -> list[str]:
    """Complete names of declared queries."""
    from kgbench.rdf import queries as declared

    return _with_prefix(incomplete, declared.names())


def data_sets(incomplete: str) -> list[str]:
    """Complete names of data sets that can be installed."""
    from kgbench.datasets import descriptions

    return _with_prefix(incomplete, descriptions.names())


def runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete ids of the runs in an embedded store, newest first, with their labels."""
    rows: list[tuple[str, str]] = []
    with suppress(Exception):  # an unreadable store completes nothing
        rows = _runs(context.params.get("store"))
    return [(name, label) for name, label in rows if name.startswith(incomplete)]


def _runs(location: object) -> list[tuple[str, str]]:
    import os

    from kgbench.record import reading
    from kgbench.store import back_ends, default_location, open_reader, snapshots

    path = str(location or os.environ.get("KGBENCH_STORE") or default_location())
    # A server would get a request per key press, and opening an unclosed store would repair it.
    if back_ends.is_remote(path) or not snapshots.is_complete(Path(path) / "snapshots"):
        return []
    with open_reader(path) as store:
        return [(run.id, run.label) for run in reading.runs(store)]


def _with_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
