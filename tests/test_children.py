# SPDX-License-Identifier: Apache-2.0
"""Worker processes for one task: they get no key, end at their limits, and report failures."""

from __future__ import annotations

import io
import signal
import sys

import pytest

from kgbench.children import one_task
from kgbench.children.commands import command, environment
from kgbench.children.endings import (
    OUT_OF_MEMORY,
    ChildTimeout,
    Limit,
    described,
    limit_hit,
)


@pytest.fixture
def code(monkeypatch):
    """Return a function that replaces the module of a worker process by this code."""

    def instead(text: str) -> None:
        monkeypatch.setattr(one_task, "command", lambda *_: [sys.executable, "-c", text])

    return instead


def test_a_child_runs_a_module_without_the_current_folder_and_without_keys(monkeypatch):
    """A worker process has the parent's module path without the current folder, and no keys."""
    monkeypatch.setenv("SOME_API_KEY", "secret-of-the-parent")
    monkeypatch.setenv("SSL_CERT_FILE", "certificates")
    assert command("a.module", "x") == [sys.executable, "-P", "-m", "a.module", "x"]
    assert "SOME_API_KEY" not in environment()
    assert "SSL_CERT_FILE" not in environment()
    assert environment("SSL_CERT_FILE")["SSL_CERT_FILE"] == "certificates"
    assert environment()["PYTHONPATH"]


def test_what_a_child_says_and_how_it_ends(code):
    """Output and status are returned; the reason of a failure has the last line of stderr."""
    code("import sys; print(sys.stdin.read()); print('one\\ntwo', file=sys.stderr); sys.exit(3)")
    child = one_task.run("m", seconds=60, content=io.BytesIO(b"given"))
    assert (child.status, child.out.strip(), child.limit) == (3, "given", None)
    assert child.reason == "exit status 3 (two)"


def test_no_content_is_an_end_of_input(code):
    """Without content, a worker process reads end of file, and does not wait for the terminal."""
    code("import sys; print(len(sys.stdin.read()))")
    assert one_task.run("m", seconds=60).out.strip() == "0"


def test_a_child_that_stops_reading_is_no_error(code):
    """A worker process may ignore the rest of its input."""
    code("print('enough')")
    child = one_task.run("m", seconds=60, content=io.BytesIO(b"x" * (4 << 20)))
    assert (child.status, child.out.strip()) == (0, "enough")


@pytest.mark.parametrize("content", [None, b"x" * (4 << 20)])
def test_a_child_that_takes_too_long_is_killed(code, content):
    """A worker process that does not end, or does not read its input, is killed in time."""
    code("import time; time.sleep(3600)")
    given = None if content is None else io.BytesIO(content)
    with pytest.raises(ChildTimeout):
        one_task.run("m", seconds=0.2, content=given)


def test_a_fault_of_the_content_ends_the_child(code):
    """An exception while the content is read is raised, and the worker process is ended."""
    code("import sys; sys.stdin.read()")

    class Broken(io.BytesIO):
        def read(self, *_):
            raise OSError("torn")

    with pytest.raises(OSError, match="torn"):
        one_task.run("m", seconds=60, content=Broken())


@pytest.mark.parametrize(
    ("status", "errors", "limit"),
    [
        (0, "", None),
        (OUT_OF_MEMORY, "", Limit.MEMORY),
        (1, "Traceback\nMemoryError", Limit.MEMORY),
        (-signal.SIGABRT, "memory allocation of 64 bytes failed", Limit.MEMORY),
        (-signal.SIGABRT, "thread has overflowed its stack: stack overflow", Limit.STACK),
        (-signal.SIGSEGV, "", Limit.STACK),
        (-signal.SIGBUS, None, Limit.STACK),
        (-signal.SIGABRT, "assertion failed", None),
        (-signal.SIGABRT, None, Limit.MEMORY),
        (-signal.SIGKILL, None, None),
    ],
)
def test_the_limit_that_a_child_has_hit(status, errors, limit):
    """Exit status and stderr distinguish the memory limit, the stack limit and other failures."""
    assert limit_hit(status, errors) is limit


def test_ends_in_words():
    """A signal is reported by its name."""
    assert described(-signal.SIGKILL) == "SIGKILL"
    assert described(2) == "exit status 2"
