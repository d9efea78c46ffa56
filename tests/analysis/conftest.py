# SPDX-License-Identifier: Apache-2.0
"""Tests of analyses check every table that they make: no interval excludes its own estimate."""

from __future__ import annotations

from typing import Any

import pytest

from kgbench.analysis.tables import Table
from tests.support.estimates import excluded


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a table has an interval that excludes its own estimate."""
    made = Table.__init__

    def checked(table: Table, *args: Any, **values: Any) -> None:
        made(table, *args, **values)
        assert not excluded(table)

    monkeypatch.setattr(Table, "__init__", checked)
