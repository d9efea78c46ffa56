# SPDX-License-Identifier: Apache-2.0
"""Intervals of tables, each with the estimate that it must contain."""

from __future__ import annotations

from typing import Any

import pytest

from kgbench.tables import Table

TOLERANCE = 1e-9
#: Columns of estimates by the column of the lower end; the first that a table has counts.
ESTIMATES = {
    "ci_low": ("score", "difference", "mean", "gain", "slope"),
    "boot_low": ("difference",),
    "rank_low": ("rank",),
    "low": ("mean", "value"),
    "band_from": ("mean",),
    "labelled_low": ("labelled_mean",),
    "agreement_low": ("agreement",),
    "kappa_low": ("kappa",),
}
UPPER = {"band_from": "band_to"}


def excluded(table: Table) -> list[str]:
    """Return a text for each interval of a table that does not contain its own estimate.

    An interval without an estimate in its row is one of them, and so is half an interval. Fails
    for an interval whose estimate :data:`ESTIMATES` does not name.
    """
    lows = [name for name in table.names if name.endswith("low") or name in UPPER]
    wrong = []
    for low in lows:
        high = UPPER.get(low) or low.removesuffix("low") + "high"
        estimate = next(name for name in ESTIMATES[low] if name in table.names)
        for row in table.records():
            ends = (row[low], row[estimate], row[high])
            if row[low] is None and row[high] is None:
                continue
            if None in ends or not ends[0] - TOLERANCE <= ends[1] <= ends[2] + TOLERANCE:
                wrong.append(f"{table.title}: {low} {ends} in {row}")
    return wrong


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a table has an interval that excludes its own estimate."""
    made = Table.__init__

    def checked(table: Table, *args: Any, **values: Any) -> None:
        made(table, *args, **values)
        assert not excluded(table)

    monkeypatch.setattr(Table, "__init__", checked)
