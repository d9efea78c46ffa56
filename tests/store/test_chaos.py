# SPDX-License-Identifier: Apache-2.0
"""A server that is killed and restarted while a run writes to it."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter

import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.record import reading
from kgbench.store import leases, maintenance, open_reader, open_store
from kgbench.vocab import KGB
from tests.store.servers import Oxigraph
from tests.support.runs import dialogues_of, hold, planned

RESTARTS = 5
TASKS = ["RdfFriendCount-turtle-1", "RdfFriendCount-nt-1"]
AWAY = 0.3  # seconds that the server is down each time


def plan(dialogues):
    """Return a plan with this number of dialogues, with a model that answers at once."""
    each = dialogues // len(TASKS)
    return planned(TASKS, "baseline:oracle", iterations=each, concurrency=8)


class Restarts:
    """Kills and restarts the server at given numbers of complete dialogues."""

    def __init__(self, server, moments):
        self.done = 0
        self._server = server
        self._moments = sorted(moments)
        self._thread = None

    def watch(self, seen):
        """Receive the progress of the run."""
        if self._moments and seen.complete >= self._moments[0] and not self._busy():
            self._moments.pop(0)
            self._thread = threading.Thread(target=self._restart)
            self._thread.start()

    def end(self):
        """Wait for the last restart."""
        if self._thread is not None:
            self._thread.join()

    def _busy(self):
        return self._thread is not None and self._thread.is_alive()

    def _restart(self):
        self._server.stop(signal.SIGKILL)
        time.sleep(AWAY)
        self._server.start()
        self.done += 1


def shape(store, run):
    """Return how often each property occurs in the run's graph and in its pass's graph."""
    (live,) = reading.passes(store, run)
    return [Counter(t.predicate.value for t in store.triples(g)) for g in (run.graph, live.graph)]


@pytest.mark.servers
def test_five_restarts_during_a_thousand_dialogues(tmp_path):
    """After five restarts a run holds exactly its plan, with no call or dialogue repeated."""
    wanted = plan(1_000)
    with open_store(str(tmp_path / "reference")) as store:
        hold(store, wanted)
        (run,) = reading.runs(store)
        reference = shape(store, run)
    with Oxigraph(tmp_path / "server") as server:
        restarts = Restarts(server, [75, 250, 450, 650, 850])
        with open_store(server.url) as store:
            done = hold(store, wanted, watch=restarts.watch)
        restarts.end()
        with open_reader(server.url) as store:
            (run,) = reading.runs(store)
            dialogues = dialogues_of(store, run)
            found = shape(store, run)
            problems = maintenance.check(store).problems

    assert restarts.done == RESTARTS
    assert (done.complete, done.failed, done.calls) == (1_000, 0, 1_000)
    assert len(dialogues) == len({(d.task, d.iteration) for d in dialogues}) == 1_000
    assert all(d.ended is not None and len(d.answers) == 1 for d in dialogues)
    assert problems == []
    assert found == reference


@pytest.mark.servers
def test_a_server_that_stays_away_stops_the_run_resumably(tmp_path, monkeypatch):
    """A run stops when the server stays away; the same plan then continues it."""
    monkeypatch.setenv("KGBENCH_STORE_PATIENCE", "0.5")
    wanted = plan(200)
    with Oxigraph(tmp_path / "server") as server:

        def watch(seen):
            if seen.complete == 60:
                server.stop(signal.SIGKILL)

        with pytest.raises(StoreError, match="same command continues"):
            interrupted(server.url, wanted, watch)
        server.start()
        monkeypatch.setattr(leases, "_is_gone", lambda _: True)  # as if its process had ended
        with open_store(server.url) as store:
            done = hold(store, wanted)
            (run,) = reading.runs(store)
            dialogues = dialogues_of(store, run)
            calls = Counter(
                triple.subject
                for triple in store.triples(run.graph)
                if triple.object == ox.NamedNode(KGB.ModelCall)
            )

    assert done.before >= 60 - 8
    assert done.before + done.complete == 200
    assert len(dialogues) == len({(d.task, d.iteration) for d in dialogues}) == 200
    assert all(d.ended is not None and len(d.answers) == 1 for d in dialogues)
    assert len(calls) == 200


def interrupted(url, wanted, watch):
    """Run a plan until its store is gone."""
    with open_store(url) as store:
        hold(store, wanted, watch=watch)
