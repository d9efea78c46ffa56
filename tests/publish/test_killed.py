# SPDX-License-Identifier: Apache-2.0
"""The worker processes of a publication end with the process that started them."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing, os, signal, sys
from pathlib import Path

from kgbench.publish import workers
from kgbench.publish.settings import Settings
from kgbench.publish.site import publish


def end(done, total, what):
    if what == "dialogues":
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    workers._FEW = 0
    store, out = sys.argv[1:]
    publish(Settings(store, Path(out), base="https://example.org/bench/", processes=2), end)
"""
PATIENCE = 30  # seconds


def has_ended(pid):
    """Return whether a process has ended; nobody may have asked for its exit status yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in {"Z", "X"}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_workers_of_a_killed_publication_end(recorded, tmp_path):
    """No worker process remains when the publishing process is killed."""
    script = tmp_path / "publish.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, script, recorded, tmp_path / "site"]
    pids = tmp_path / "pids"
    with pids.open("w", encoding="utf-8") as out:  # workers would keep a pipe open
        subprocess.run(command, stdout=out, check=False)
    workers = pids.read_text(encoding="utf-8").split()
    assert workers
    until = time.monotonic() + PATIENCE
    while not all(map(has_ended, workers)) and time.monotonic() < until:
        time.sleep(0.1)

    assert [pid for pid in workers if not has_ended(pid)] == []
