# SPDX-License-Identifier: Apache-2.0
"""Real servers: ``kgbench serve`` as a process that listens on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PATIENCE = 120  # seconds for what is to come: far beyond what a busy machine needs


@contextlib.contextmanager
def serving(folder, *options, env=None):
    """A running server over the store at ``folder``: its process, with ``.url``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kgbench", "serve", "--store", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        process.url = lines[1].split()[-1] if lines[1] else ""
        assert process.url, process.stderr.read()
        _wait(process.url)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


def _wait(url):
    eventually(lambda: _answers(url), f"{url} does not answer")


def _answers(url):
    try:
        with urllib.request.urlopen(f"{url}health", timeout=PATIENCE) as response:
            return bool(response.read())
    except OSError:
        return False


def eventually(holds, otherwise="it never came to hold"):
    """Wait until something holds, however long a busy machine takes."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


def children(pid):
    """The processes that a process has started and that are still there."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    with contextlib.suppress(FileNotFoundError):
        return [int(child) for child in path.read_text(encoding="ascii").split()]
    return []


def is_running(pid):
    """Whether a process is there and not only waits for somebody to ask how it ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def memory(pid):
    """The resident memory of a process in KiB; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
    except OSError:
        return 0
