# SPDX-License-Identifier: Apache-2.0
"""``kgbench status``: replies in the reply log that the store does not have."""

from __future__ import annotations

import json

import pytest

from kgbench.engine.replies import serialised
from kgbench.record import reading
from kgbench.store import open_reader
from kgbench.store.back_ends import REPLY_LOG
from tests.engine.test_replies import kgbench, killed, words
from tests.support.batch_runs import ONE


@pytest.fixture
def spec(loopback):
    """Return a model whose server answers at once."""
    return loopback()[1]


def test_status_counts_replies_that_wait(tmp_path, spec):
    """Replies in the log of a killed session are counted until the store has them."""
    place = tmp_path / "store"
    first = kgbench(*words(place, spec, iterations=1))
    assert first.returncode == 0, first.stderr
    assert json.loads(kgbench("status", "--json", "--store", place).stdout)[0]["waiting"] == 0
    kept = killed(words(place, spec), place, 3)
    said = kgbench("status", "--store", place)
    (state,) = json.loads(kgbench("status", "--json", "--store", place).stdout)
    again = kgbench(*words(place, spec))
    (after,) = json.loads(kgbench("status", "--json", "--store", place).stdout)

    assert (state["waiting"], state["complete"]) == (len(kept), 1) == (3, 1)
    assert "  3 replies in the reply log and not in the store yet" in said.stdout
    assert json.loads(again.stdout)["recovered"] == 3
    assert (after["waiting"], after["complete"]) == (0, 4)


def test_status_tells_of_replies_of_unknown_runs(tmp_path, spec):
    """Replies of a run that readers cannot see are reported beside the runs."""
    place = tmp_path / "store"
    kgbench("run", "--store", place, "--model", "baseline:oracle", "--task", ONE)
    with open_reader(str(place)) as reader:
        (run,) = reading.runs(reader)
    (received,) = [*killed(words(tmp_path / "other", spec), tmp_path / "other", 1).values()][:1]
    (place / REPLY_LOG).write_bytes(serialised(received) + b"\n")
    done = kgbench("status", "--store", place)

    assert received.run not in run.iri
    assert "1 reply in the reply log of runs that the store does not show" in done.stderr
