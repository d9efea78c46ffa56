# SPDX-License-Identifier: Apache-2.0
"""Real servers: ``kgbench serve`` as a process that listens on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE = 120  # seconds for an expected event: far more than a busy machine needs


@contextlib.contextmanager
def serving(folder, *options, command="serve", env=None):
    """Yield the process of a running server (a ``command``) over the store at ``folder``.

    ``.url`` is its address, ``.link`` what it prints for its users.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "kgbench", command, "--store", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[1], process.stderr.read()
        process.link = lines[1].split()[-1]
        process.url = process.link.partition("?")[0]
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
    except urllib.error.HTTPError:
        return True  # a review server admits nobody without the link
    except OSError:
        return False


def eventually(holds, otherwise="it never came to hold"):
    """Wait until a condition holds, with patience for a busy machine."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


def children(pid):
    """Return the running child processes of a process, whichever of its threads started them."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, path.read_text(encoding="ascii").split())
    return found


def is_running(pid):
    """Return whether a process exists and is no zombie."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def memory(pid):
    """Return the resident memory of a process in KiB; 0 if it is unknown."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
    except OSError:
        return 0
