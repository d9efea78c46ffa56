# SPDX-License-Identifier: Apache-2.0
"""The benchmark of stores on servers: equal tables and reported differences."""

from __future__ import annotations

import contextlib
import importlib

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.errors import QueryError
from kgbench.store import open_store
from tests.store.in_process import InProcess
from tests.support.runs import hold, planned


@pytest.fixture
def stores(monkeypatch, repository):
    """Return the module under test."""
    monkeypatch.syspath_prepend(str(repository))
    return importlib.import_module("bench.stores")


@pytest.fixture
def source(tmp_path):
    """Return the location of a store with a small run."""
    plan = planned("RdfFriendCount-*-1", "baseline:oracle", "baseline:silent", iterations=1)
    with open_store(str(tmp_path / "source")) as store:
        hold(store, plan)
    return str(tmp_path / "source")


def measured(stores, source, tmp_path):
    """Return the measurements of a server in this process."""
    (tmp_path / "work").mkdir()
    (one,) = stores.measured(source, tmp_path / "work", {"in process": True}.get)
    return one


@pytest.fixture
def server(monkeypatch, stores):
    """Replace the known servers by one in this process."""

    @contextlib.contextmanager
    def started(work):
        with InProcess() as process:
            yield stores.Server(process.url, "1", work)

    monkeypatch.setattr(stores, "SERVERS", {"in process": started})


@pytest.mark.usefixtures("server")
def test_a_server_gives_the_tables_of_the_folder(stores, source, tmp_path):
    """A copy on a server has the same counts and gives the same tables as the folder."""
    one = measured(stores, source, tmp_path)

    assert one.faults == {}
    assert one.triples > 0
    cells = {row[0]: row[1] for row in stores.table([one]).rows}
    assert float(cells["leaderboard"]) >= 0
    assert "fails" not in cells.values()


@pytest.mark.usefixtures("server")
def test_other_rows_and_failures_are_faults(monkeypatch, stores, source, tmp_path):
    """An analysis whose table differs on the server, or that fails there, is named."""

    def analyses(store, chosen):
        def fails():
            if store.location != source:
                raise QueryError("not on a server")
            return leaderboard(store, chosen)

        return {"other": lambda: store.location, "fails": fails}

    monkeypatch.setattr(stores, "analyses", analyses)
    one = measured(stores, source, tmp_path)

    assert one.faults == {"other": "other rows", "fails": "not on a server"}
    cells = {row[0]: row[1] for row in stores.table([one]).rows}
    assert (cells["other"], cells["fails"]) == ("other rows", "fails")
