# SPDX-License-Identifier: Apache-2.0
"""The write-ahead log: complete records or none, bounded size, clear errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from kgbench import write_ahead
from kgbench.errors import StoreInUse, WriteFailed
from kgbench.store import reply_log
from kgbench.write_ahead import WriteAheadLog, content_of, framed


def contents(folder):
    """Return the records and the damaged segments that a new process finds in the log."""
    log = WriteAheadLog(folder)
    found = [record.content for record in log.recovered()]
    damaged = log.damaged
    log.close()
    return found, damaged


def left_by_a_kill(folder, *lines):
    """Return a log as left by a killed process: one segment with these lines."""
    folder.mkdir()
    (folder / "00000001.log").write_bytes(b"".join(lines))
    return folder


def test_records_survive_in_their_order(tmp_path):
    """Records that were appended and are not done are found by the next process."""
    log = WriteAheadLog(tmp_path / "log")
    for k in range(5):
        log.append(f"key{k}", b"%d" % k)
    log.done(["key1", "key3", "unknown"])
    left = len(log)
    log.close()
    again = WriteAheadLog(tmp_path / "log")
    found = {f"key{record.content.decode()}": record for record in again.recovered()}
    again.keep({key: found[key] for key in ("key0", "key2", "key4")})
    again.close()

    assert left == 3
    assert contents(tmp_path / "log") == ([b"0", b"2", b"4"], set())


def test_nothing_is_left_when_the_store_has_all(tmp_path):
    """A log whose records are all done is removed with its folder."""
    log = WriteAheadLog(tmp_path / "log")
    log.append("a", b"1")
    log.done(["a"])
    log.close()

    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("cut", range(1, len(framed(b"second")) + 1))
def test_a_torn_record_is_never_misread(tmp_path, cut):
    """A last record that is cut off anywhere is ignored; the one before it is complete."""
    folder = left_by_a_kill(tmp_path / "log", framed(b"first"), framed(b"second")[:-cut])

    assert contents(folder) == ([b"first"], set())


@pytest.mark.parametrize("position", range(len(framed(b"second"))))
def test_a_flipped_bit_is_never_misread(tmp_path, position):
    """A damaged record is ignored, its neighbours are read, and a copy of the segment is kept."""
    line = bytearray(framed(b"second"))
    line[position] ^= 1
    folder = left_by_a_kill(tmp_path / "log", framed(b"first"), bytes(line), framed(b"third"))
    log = WriteAheadLog(folder)
    found = {record.content: record for record in log.recovered()}
    log.keep({"first": found[b"first"]})
    log.close()

    assert b"second" not in found
    assert b"first" in found
    assert (b"third" in found) == (position < len(line) - 1), "it has no line of its own"
    assert bytes(line) in (folder / "00000001.damaged").read_bytes()
    assert contents(folder)[0] == [b"first"]


def test_any_line_is_whole_or_nothing():
    """A line of another program, or with a wrong length or digest, is not a record."""
    good = framed(b'{"a": 1}')
    lies = [b"", b"\n", b"x" * 100 + b"\n", good[:-1], good.replace(b" 8 ", b" 9 "), good + b"\n"]

    assert content_of(good) == b'{"a": 1}'
    assert [content_of(lie) for lie in lies] == [None] * len(lies)


def test_the_log_stays_small(tmp_path, monkeypatch):
    """The log keeps about one segment, plus the segments of records that are not done."""
    monkeypatch.setattr(write_ahead, "SEGMENT", 1000)
    folder = tmp_path / "log"
    log = WriteAheadLog(folder)
    log.append("kept", b"kept")
    most = 0
    for k in range(500):
        log.append(f"key{k}", b"x" * 100)
        log.done([f"key{k}"])
        most = max(most, sum(path.stat().st_size for path in folder.glob("*.log")))
    log.close()

    assert most < 3500
    again = WriteAheadLog(folder)
    found = [record for record in again.recovered() if record.content == b"kept"]
    again.keep({"kept": found[0]})
    again.close()
    assert [path.stat().st_size for path in folder.glob("*.log")] == [len(framed(b"kept"))]


def test_one_process_at_a_time(tmp_path):
    """A second process is refused at once with the folder's name."""
    log = WriteAheadLog(tmp_path / "log")
    log.append("a", b"1")
    with pytest.raises(StoreInUse, match=r"log is in use by another kgbench"):
        WriteAheadLog(tmp_path / "log")
    log.close()


_LIMITED = """
import resource, sys
from pathlib import Path
from kgbench.errors import WriteFailed
from kgbench.write_ahead import WriteAheadLog
log = WriteAheadLog(Path(sys.argv[1]))
log.append("a", b"1" * 600)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    log.append("b", b"2" * 600)
except WriteFailed as error:
    print(error)
log.append("c", b"3" * 10)
"""


def test_a_write_that_fails_leaves_the_log_as_it_was(tmp_path):
    """A partly written record is removed, so that later records are found."""
    folder = tmp_path / "log"
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(folder)], capture_output=True, text=True, check=True
    )

    assert done.stdout == f"the write-ahead log in {folder} cannot be written: File too large\n"
    assert contents(folder) == ([b"1" * 600, b"3" * 10], set())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    """If the folder cannot be made, the first record is refused."""
    (tmp_path / "file").write_text("")
    log = WriteAheadLog(tmp_path / "file" / "log")

    with pytest.raises(WriteFailed, match="cannot be written: Not a directory"):
        log.append("a", b"1")


def test_syncing_brings_the_store_to_the_disk_first(tmp_path, monkeypatch):
    """With fsync, records are synced by themselves, and the store before a segment is removed."""
    monkeypatch.setattr(write_ahead, "SEGMENT", 10)
    folder, synced, settled = tmp_path / "log", threading.Event(), []
    fsync = os.fsync

    def noted(file):
        fsync(file)
        synced.set()

    monkeypatch.setattr(os, "fsync", noted)
    log = WriteAheadLog(folder, settle=lambda: settled.append(len(list(folder.glob("*.log")))))
    log.append("a", b"1" * 20)
    assert synced.wait(60)
    log.append("b", b"2" * 20)
    log.done(["a"])
    assert settled == [2]
    log.done(["b"])
    log.close()

    assert settled == [2, 1]
    assert not folder.exists()


def test_a_disk_that_loses_writes_is_told(tmp_path, monkeypatch):
    """If syncing records to the disk fails, the next record is refused."""

    def broken(_):
        raise OSError(5, "Input/output error")

    log = WriteAheadLog(tmp_path / "log", settle=lambda: None)
    monkeypatch.setattr(write_ahead, "_sync_folder", lambda _: None)
    monkeypatch.setattr(os, "fsync", broken)
    log.append("a", b"1")
    patience = time.monotonic() + 60
    while log._failure is None and time.monotonic() < patience:
        time.sleep(0.01)
    with pytest.raises(WriteFailed, match="Input/output error"):
        log.append("b", b"2")
    log.close()


_KILLED = """
import os, signal, sys
from pathlib import Path
from kgbench.write_ahead import WriteAheadLog
log = WriteAheadLog(Path(sys.argv[1]))
log.append("a", b"safe")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_record_is_safe_when_append_returns(tmp_path):
    """A record survives a kill directly after ``append`` returns."""
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path / "log")], check=False)

    assert done.returncode == -signal.SIGKILL
    assert contents(tmp_path / "log") == ([b"safe"], set())


def test_where_the_log_is(tmp_path, monkeypatch):
    """The log is in the store's folder; for a server, in a folder that depends on its address."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    by_default = reply_log.folder("http://host:7878")
    monkeypatch.setenv("KGBENCH_WRITE_AHEAD", str(tmp_path / "named"))
    named = reply_log.folder("http://host:7878/")
    monkeypatch.delenv("KGBENCH_WRITE_AHEAD")
    monkeypatch.delenv("XDG_STATE_HOME")

    assert reply_log.folder("memory:") is None
    assert reply_log.folder(str(tmp_path)) == tmp_path / "write-ahead"
    assert by_default.parent == tmp_path / "state" / "kgbench" / "write-ahead"
    assert named == tmp_path / "named" / by_default.name
    assert reply_log.folder("http://host:7879").parts[-3:-1] == ("kgbench", "write-ahead")
    assert reply_log.folder("http://host:7879").name != by_default.name
