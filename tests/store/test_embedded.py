# SPDX-License-Identifier: Apache-2.0
"""What only the embedded store does: folders, and snapshots that readers follow."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from kgbench.errors import StoreError
from kgbench.store import Block, open_reader, open_store
from kgbench.store.snapshots import INTERVAL, KEPT
from tests.store.test_back_ends import count, triples

GRAPH = "https://w3id.org/kgbench/graph/run/test"


def test_reader_follows_a_live_writer(tmp_path):
    """While a process owns the store, readers see its writes within seconds."""
    with open_store(str(tmp_path / "s")) as store:
        store.write([Block(GRAPH, triples(7))])
        deadline = time.monotonic() + 60 * INTERVAL
        seen = 0
        while seen != 7 and time.monotonic() < deadline:
            with open_reader(str(tmp_path / "s")) as reader:
                seen = count(reader)
            time.sleep(0.1)

        assert seen == 7


def test_reader_sees_what_a_killed_writer_wrote(tmp_path):
    """Data written before a kill can be read afterwards, although no snapshot was made."""
    place = str(tmp_path / "s")
    code = (
        "import os\nfrom kgbench.store import Block, open_store\n"
        f"s = open_store({place!r})\n"
        f"s.write([Block({GRAPH!r}, {triples(9)!r})])\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    with open_reader(place) as reader:
        assert count(reader) == 9


def test_old_snapshots_are_removed_unless_they_are_read(tmp_path):
    """At most KEPT snapshots are kept, plus those that are being read."""
    place = tmp_path / "s"
    with open_store(str(place)) as store:
        store.write([Block(GRAPH, triples(1))])
    with open_reader(str(place)) as reader:
        for k in range(KEPT + 2):
            with open_store(str(place)) as store:
                store.write([Block(GRAPH, triples(1, k + 1))])
        kept = [p for p in (place / "snapshots").iterdir() if p.is_dir()]

        assert count(reader) == 1
        assert len(kept) == KEPT + 1


def test_file_is_refused(tmp_path):
    """A file is refused as a store."""
    (tmp_path / "f").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        open_store(str(tmp_path / "f"))


def test_snapshot_is_published_when_asked_for(tmp_path):
    """After publishing a snapshot, readers see all writes at once."""
    with open_store(str(tmp_path / "s")) as store:
        store.write([Block(GRAPH, triples(3))])
        store.publish_snapshot()
        with open_reader(str(tmp_path / "s")) as reader:
            assert 3 == count(reader)
    with open_store("memory:") as store:
        store.publish_snapshot()
