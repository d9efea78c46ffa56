# SPDX-License-Identifier: Apache-2.0
"""The reply log: whole lines or none, bounded size, one owner, clear errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from kgbench.engine import replies
from kgbench.engine.replies import ReplyLog
from kgbench.errors import StoreError, StoreInUse, WriteFailed
from kgbench.store.back_ends import REPLY_LOG, reply_log


@pytest.fixture
def file(tmp_path):
    """Return the path of a log, in a folder that does not exist yet."""
    return tmp_path / "folder" / REPLY_LOG


def left_by_a_kill(file, data):
    """Return the log of a killed process."""
    file.parent.mkdir()
    file.write_bytes(data)
    return ReplyLog(file)


def test_replies_survive_until_their_turn_is_stored(file):
    """A reply is released with its turn only; those of other turns survive in their order."""
    log = ReplyLog(file)
    for k in range(5):
        log.append(f"turn{k % 3}", b"%d" % k)
    log.done("turn1")
    log.done("unknown")
    left = len(log)
    log.close()

    assert left == 3
    assert replies.read_lines(file) == ([b"0", b"3", b"2"], False)
    again = ReplyLog(file)
    again.keep({"turn0": [b"3"], "turn2": [b"2"]})
    again.append("turn4", b"4")
    again.close()
    assert replies.read_lines(file) == ([b"3", b"2", b"4"], False)


def test_only_its_owner_reads_a_log(file):
    """Nobody else may read the file, neither the first one nor one that replaced it."""
    log = ReplyLog(file)
    log.append("a", b"1")
    first = file.stat().st_mode
    log.keep({"a": [b"1"]})
    log.close()

    assert [mode & 0o777 for mode in (first, file.stat().st_mode)] == [0o600, 0o600]


def test_nothing_is_left_when_the_store_has_all(file):
    """A log is created with its first reply, and removed when none is needed."""
    log = ReplyLog(file)
    assert not file.exists()
    log.append("a", b"1")
    assert file.exists()
    log.done("a")
    log.close()

    assert list(file.parent.iterdir()) == []
    assert replies.read_lines(file) == ([], False)


def test_what_was_not_read_is_not_removed(file):
    """A log that is closed before its lines were read stays as it is."""
    left_by_a_kill(file, b"first\nsec").close()

    assert file.read_bytes() == b"first\nsec"


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_torn_line_is_dropped(file, cut):
    """A last line that was cut off anywhere is left out, and nothing is appended to it."""
    log = left_by_a_kill(file, b"first\nsecond\n"[:-cut])
    found = replies.read_lines(file)
    log.keep({"a": [b"first"]})
    log.append("b", b"third")
    log.close()

    assert found == ([b"first"], cut < 7)
    assert replies.read_lines(file) == ([b"first", b"third"], False)


def test_the_log_stays_small(file, monkeypatch):
    """The file is replaced while it is written; lines that are needed survive."""
    monkeypatch.setattr(replies, "SPARE", 1000)
    log = ReplyLog(file)
    log.append("kept", b"kept")
    most = 0
    for k in range(500):
        log.append(f"turn{k}", b"x" * 100)
        log.done(f"turn{k}")
        most = max(most, file.stat().st_size)
    log.close()

    assert most < 1500
    assert replies.read_lines(file) == ([b"kept"], False)


def test_one_process_at_a_time(file):
    """A second process is refused with the name of the file, also after a replacement."""
    log = ReplyLog(file)
    log.append("a", b"1")
    for _ in range(2):
        with pytest.raises(StoreInUse, match=rf"{file} is in use by another kgbench"):
            ReplyLog(file)
        log.keep({"a": [b"1"]})
    log.close()
    ReplyLog(file).close()


LIMITED = """
import resource, sys
from pathlib import Path
from kgbench.errors import WriteFailed
from kgbench.engine.replies import ReplyLog
log = ReplyLog(Path(sys.argv[1]))
log.append("a", b"1" * 600)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    log.append("b", b"2" * 600)
except WriteFailed as error:
    print(error)
log.append("c", b"3" * 10)
"""


def test_a_write_that_fails_leaves_the_log_as_it_was(file):
    """A partly written line is removed, so that later ones are found."""
    command = [sys.executable, "-c", LIMITED, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout == f"the reply log {file} cannot be written: File too large\n"
    assert replies.read_lines(file) == ([b"1" * 600, b"3" * 10], False)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    """If the folder cannot be made, the first reply is refused."""
    (tmp_path / "file").write_text("")
    log = ReplyLog(tmp_path / "file" / "folder" / REPLY_LOG)

    with pytest.raises(WriteFailed, match="cannot be written: Not a directory"):
        log.append("a", b"1")


def test_syncing_brings_the_store_to_the_disk_first(file, monkeypatch):
    """With fsync, a line is on the disk after its return, and the store before lines go."""
    monkeypatch.setattr(replies, "SPARE", 10)
    settled, synced, fsync = [], [], os.fsync

    def noted(handle):
        fsync(handle)
        synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr(os, "fsync", noted)
    log = ReplyLog(file, settle=lambda: settled.append(file.read_bytes()))
    log.append("a", b"1" * 20)
    assert synced[-1] == 21
    log.append("b", b"2" * 20)
    assert synced[-1] == 42
    log.done("a")
    assert settled == []
    log.done("b")
    log.close()

    assert settled[0] == b"1" * 20 + b"\n" + b"2" * 20 + b"\n"
    assert not file.exists()


def test_a_disk_that_loses_writes_is_told(file, monkeypatch):
    """If syncing a line to the disk fails, the reply is refused."""

    def broken(_):
        raise OSError(5, "Input/output error")

    log = ReplyLog(file, settle=lambda: None)
    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(WriteFailed, match="Input/output error"):
        log.append("a", b"1")


KILLED = """
import os, signal, sys
from pathlib import Path
from kgbench.engine.replies import ReplyLog
log = ReplyLog(Path(sys.argv[1]))
log.append("a", b"safe")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_reply_is_safe_when_append_returns(file):
    """A reply survives a kill directly after ``append`` returns."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)

    assert done.returncode == -signal.SIGKILL
    assert replies.read_lines(file) == ([b"safe"], False)


def test_where_the_log_is(tmp_path, monkeypatch):
    """The log is in the store's folder; for a server, in a folder that depends on its address."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    one, same, other = map(reply_log, ("http://host:7878", "http://host:7878/", "http://host:7879"))

    assert one == same
    assert one.parent.parent == other.parent.parent == tmp_path / "state" / "kgbench" / "replies"
    assert one != other
    assert reply_log("memory:") is None
    assert reply_log(str(tmp_path)) == tmp_path / "replies.jsonl"


@pytest.mark.parametrize("remote", [False, True])
def test_replies_of_an_earlier_version_are_refused(tmp_path, monkeypatch, remote):
    """Their folder is named, and what to do about them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    location = "http://host:7878" if remote else str(tmp_path)
    new = reply_log(location).parent
    folder = new.parent.parent / "write-ahead" / new.name if remote else new / "write-ahead"
    (folder / "arrivals").mkdir(parents=True)
    assert reply_log(location) == new / "replies.jsonl"
    (folder / "arrivals" / "00000001.log").write_bytes(b"kgbench-1 2 0 {}\n")

    with pytest.raises(StoreError, match=rf"{folder} has replies .* finish the run with that"):
        reply_log(location)
