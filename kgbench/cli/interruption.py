# SPDX-License-Identifier: Apache-2.0
"""Handling of Ctrl-C for all commands that do not handle it themselves, and of time limits.

Native code reacts neither to Ctrl-C nor to a time limit before it returns. So commands that read
what others made run in a child process, which this one ends: :func:`supervised`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import typer

from kgbench.children import commands, lockdown
from kgbench.cli.help_format import GroupWithHelp

INTERRUPTED = (
    "kgbench: interrupted; stored data are consistent, and the same command can be repeated"
)

_READERS: Final = frozenset(("harvest", "import", "datasets"))  # of what others made
_SUPERVISOR: Final = "KGBENCH_SUPERVISOR"  # the process that ends this one
_PATIENCE: Final = 0.4  # seconds that a child has to end by itself after Ctrl-C
_GRACE: Final = 0.5  # seconds beyond a time limit, in which a command may report it by itself
_SHOW_CURSOR: Final = "\x1b[?25h"  # an ended progress bar leaves it hidden


class Commands(GroupWithHelp):
    """The group of all commands; it turns Ctrl-C into one line and exit code 130.

    Commands let :class:`KeyboardInterrupt` pass. To stay consistent, they write the statement that
    makes their other writes count last, and atomically.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments of the command line."""
        with _interruption_reported():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that ``ctx`` names."""
        with _interruption_reported():
            return super().invoke(ctx)


@contextmanager
def _interruption_reported() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(INTERRUPTED, err=True)
        raise typer.Exit(130) from None


def supervised(words: Sequence[str]) -> int | None:
    """Run the command line ``words`` in a child if it reads what others made.

    Returns its exit code, or ``None`` if this process is to run the command. On Ctrl-C the child
    has a moment to end by itself. Its temporary files are removed however it ends.
    """
    if _is_supervised():
        lockdown.die_with_parent(os.getppid())
        return None
    reads = bool(words) and (words[0] in _READERS or (words[0] == "publish" and "--check" in words))
    if not reads:
        return None
    with tempfile.TemporaryDirectory(prefix="kgbench-", ignore_cleanup_errors=True) as scratch:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {"PYTHONPATH": path, "TMPDIR": scratch, _SUPERVISOR: str(os.getpid())}
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            commands.command("kgbench", *words), env=os.environ | environment
        )
        try:
            return _exit_code(child.wait())
        except KeyboardInterrupt:
            return _interrupted(child)


def end_after(seconds: float) -> None:
    """End a supervised command ``seconds`` from now, whatever it does."""
    if _is_supervised():
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)


def _is_supervised() -> bool:
    return os.environ.get(_SUPERVISOR) == str(os.getppid())


def _interrupted(child: subprocess.Popen[bytes]) -> int:
    try:
        return _exit_code(child.wait(_PATIENCE))
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    _report(INTERRUPTED)
    return 130


def _exit_code(status: int) -> int:
    """Return the exit code for the status of a child; report its end at the time limit."""
    if status == -signal.SIGALRM:
        _report("kgbench: the time limit is over, and nothing was half written: raise --seconds")
        return 1
    return status if status >= 0 else 128 - status


def _report(message: str) -> None:
    typer.echo(f"{_SHOW_CURSOR if sys.stderr.isatty() else ''}{message}", err=True)
