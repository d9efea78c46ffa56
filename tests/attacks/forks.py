# SPDX-License-Identifier: Apache-2.0
"""Commands in forks of this process, which has imported what they need.

So a command takes a tenth of a second and not one or two. Its stores have the declarations of the
task class that is run, and not of all others, so that results are most of what is in them.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from kgbench import cli, resources
from kgbench.analysis import leaderboard
from kgbench.cli import run_report
from kgbench.engine import work
from kgbench.record import recovery
from kgbench.store import declared

IMPORTED = (leaderboard, recovery, run_report, work)
"""What commands import when they need it, imported here once for all of them."""

PATIENCE = 300  # seconds for one command; a longer one hangs


@dataclass(slots=True)
class Ran:
    """A command: exit status (``None`` if it hung), seconds, bytes of memory, output."""

    command: str
    status: int | None
    seconds: float
    memory: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """The kind of violation, if the command has not ended as commands have to."""
        if self.status is None:
            return "hang"
        if "Traceback" in self.err or "panicked" in self.err or self.status < 0:
            return "traceback"
        return None


def kgbench(folder: Path, *arguments: str) -> Ran:
    """Run a command in ``folder``, in a fork of this process, and wait for it."""
    out, err = folder / "stdout", folder / "stderr"
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        _run_command(folder, out, err, arguments)
    hung = False
    while True:
        ended, code, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > PATIENCE and not hung:
            hung = True
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    seconds = time.monotonic() - began
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
    status = None if hung else os.waitstatus_to_exitcode(code)
    return Ran(" ".join(arguments[:2]), status, seconds, usage.ru_maxrss << 10, *texts)


def _run_command(folder: Path, out: Path, err: Path, arguments: Sequence[str]) -> NoReturn:
    """Run a command in the forked process, and end it as an interpreter would."""
    status = 1
    try:
        os.chdir(folder)
        for path, descriptor in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        declared.files = _declared
        sys.argv = ["kgbench", *arguments]
        cli.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter shows it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _declared() -> Iterator[Path]:
    """Yield the declarations that the stores have."""
    yield resources.path("store", "layout.ttl")
    yield from sorted(resources.folder("ontology").glob("*.ttl"))
    yield resources.path("tasks", "RdfFriendCount", "task.ttl")
