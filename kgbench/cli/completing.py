# SPDX-License-Identifier: Apache-2.0
"""What shells complete: names that are at hand without asking a server or changing anything.

Completion is silent about everything that goes wrong: a shell has no place for messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import typer

_MODELS = ("baseline:oracle", "baseline:noisy", "baseline:silent")


def tasks(incomplete: str) -> list[str]:
    """Task labels."""
    from kgbench.tasks import catalogue

    return _beginning(incomplete, catalogue.labelled_tasks())


def models(incomplete: str) -> list[str]:
    """The baselines, and the connectors up to the colon."""
    from kgbench.connectors import names

    others = [f"{name}:" for name in names() if name != "baseline"]
    return _beginning(incomplete, [*_MODELS, *others])


def queries(incomplete: str) -> list[str]:
    """The queries that have a name."""
    from kgbench.rdf import queries as named

    return _beginning(incomplete, named.names())


def data_sets(incomplete: str) -> list[str]:
    """The data sets that can be installed."""
    from kgbench.datasets import descriptions

    return _beginning(incomplete, descriptions.names())


def runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The ids of the runs of the store, newest first, with their labels; embedded stores only."""
    found: list[tuple[str, str]] = []
    with suppress(Exception):  # an unreadable store completes nothing
        found = _runs(context.params.get("store"))
    return [(name, label) for name, label in found if name.startswith(incomplete)]


def _runs(location: object) -> list[tuple[str, str]]:
    import os

    from kgbench.record import reading
    from kgbench.store import back_ends, default_location, open_reader, snapshots

    place = str(location or os.environ.get("KGBENCH_STORE") or default_location())
    # A server would be asked at each key, and a store that was left open would be put in order.
    if back_ends.is_remote(place) or not snapshots.is_complete(Path(place) / "snapshots"):
        return []
    with open_reader(place) as store:
        return [(run.id, run.label) for run in reading.runs(store)]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
