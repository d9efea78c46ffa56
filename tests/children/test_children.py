# SPDX-License-Identifier: Apache-2.0
"""Worker processes for one task: they get no key, end at their limits, and report failures."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import signal
import subprocess
import sys
import warnings

import pytest

from kgbench.children import answering, child
from kgbench.children.answering import OUT_OF_MEMORY, ChildTimeout, Limit, described, limit_hit
from kgbench.children.child import command, environment


@pytest.fixture
def code(monkeypatch):
    """Return a function that replaces the module of a worker process by this code."""

    def instead(text: str) -> None:
        monkeypatch.setattr(child, "command", lambda *_: [sys.executable, "-c", text])

    return instead


def test_a_child_runs_a_module_without_the_current_folder_and_without_keys(monkeypatch):
    """A worker process has the parent's module path without the current folder, and no keys."""
    monkeypatch.setenv("SOME_API_KEY", "secret-of-the-parent")
    monkeypatch.setenv("SSL_CERT_FILE", "certificates")
    assert command("a.module", "x") == [sys.executable, "-P", "-m", "a.module", "x"]
    assert "SOME_API_KEY" not in environment()
    assert "SSL_CERT_FILE" not in environment()
    assert environment()["PYTHONPATH"]


def test_what_a_child_says_and_how_it_ends(code):
    """Output and status are returned; the reason of a failure has the last line of stderr."""
    code("import sys; print(sys.stdin.read()); print('one\\ntwo', file=sys.stderr); sys.exit(3)")
    done = child.run_once("m", seconds=60, content=io.BytesIO(b"given"))
    assert (done.status, done.out.strip(), done.limit) == (3, "given", None)
    assert done.reason == "exit status 3 (two)"


def test_no_content_is_an_end_of_input(code):
    """Without content, a worker process reads end of file, and does not wait for the terminal."""
    code("import sys; print(len(sys.stdin.read()))")
    assert child.run_once("m", seconds=60).out.strip() == "0"


def test_a_child_that_stops_reading_is_no_error(code):
    """A worker process may ignore the rest of its input."""
    code("print('enough')")
    done = child.run_once("m", seconds=60, content=io.BytesIO(b"x" * (4 << 20)))
    assert (done.status, done.out.strip()) == (0, "enough")


@pytest.mark.parametrize("content", [None, b"x" * (4 << 20)])
def test_a_child_that_takes_too_long_is_killed(code, content):
    """A worker process that does not end, or does not read its input, is killed in time."""
    code("import time; time.sleep(3600)")
    given = None if content is None else io.BytesIO(content)
    with pytest.raises(ChildTimeout):
        child.run_once("m", seconds=0.2, content=given)


def test_a_fault_of_the_content_ends_the_child(code):
    """An exception while the content is read is raised, and the worker process is ended."""
    code("import sys; sys.stdin.read()")

    class Broken(io.BytesIO):
        def read(self, *_):
            raise OSError("torn")

    with pytest.raises(OSError, match="torn"):
        child.run_once("m", seconds=60, content=Broken())


@pytest.mark.parametrize(
    ("status", "errors", "limit"),
    [
        (0, "", None),
        (OUT_OF_MEMORY, "", Limit.MEMORY),
        (1, "Traceback\nMemoryError", Limit.MEMORY),
        (-signal.SIGABRT, "memory allocation of 64 bytes failed", Limit.MEMORY),
        (-signal.SIGABRT, "thread has overflowed its stack: stack overflow", Limit.STACK),
        (-signal.SIGSEGV, "", Limit.STACK),
        (-signal.SIGBUS, "", Limit.STACK),
        (-signal.SIGABRT, "what():  std::bad_alloc", Limit.MEMORY),
        (-signal.SIGABRT, "assertion failed", None),
        (-signal.SIGKILL, "", None),
    ],
)
def test_the_limit_that_a_child_has_hit(status, errors, limit):
    """Exit status and stderr distinguish the memory limit, the stack limit and other failures."""
    assert limit_hit(status, errors) is limit


def test_ends_in_words():
    """A signal is reported by its name."""
    assert described(-signal.SIGKILL) == "SIGKILL"
    assert described(2) == "exit status 2"


_THREADS = """
import threading
met = threading.Barrier(13)
def allocate():
    kept = bytearray(10_000)
    met.wait(); met.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads: thread.start()
met.wait()
rows = [line.split() for line in open("/proc/self/maps")]
met.wait()
ranges = [[int(end, 16) for end in fields[0].split("-")] for fields in rows if fields[1] == "---p"]
print(sum(end - begin > 32 << 20 for begin, end in ranges))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a habit of glibc")
def test_threads_of_a_child_reserve_no_addresses_of_their_own():
    """At most one range of addresses is reserved for all threads, so a limit leaves the rest."""

    def reserved(env):
        done = subprocess.run(
            [sys.executable, "-c", _THREADS], env=env, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    free = environment()
    del free["MALLOC_ARENA_MAX"]
    assert reserved(environment()) <= 1
    if platform.libc_ver()[0] == "glibc":
        assert reserved(free) > 1


def test_the_pipes_are_out_of_reach_of_what_reads_and_prints(monkeypatch):
    """Frames use the pipes; standard input is at its end, and standard output is discarded."""
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # restored with the rest
    with contextlib.ExitStack() as stack:
        kept = [os.dup(0), os.dup(1)]
        heard, speaking = os.pipe()
        listening, said = os.pipe()
        try:
            os.dup2(heard, 0)
            os.dup2(said, 1)
            requests, replies = map(stack.enter_context, answering._own_streams())
            printed, read = os.write(1, b"not a frame"), os.read(0, 1)
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
            for descriptor in (*kept, heard, said):
                os.close(descriptor)
        for descriptor in (speaking, listening):
            stack.callback(os.close, descriptor)
        os.write(speaking, answering.packed_frame(b"one"))
        replies.write(answering.packed_frame(answering.read_frame(requests)))
        replies.flush()

        assert (printed, read) == (11, b"")
        assert os.read(listening, 100) == answering.packed_frame(b"one")


def test_no_frame_is_no_work(monkeypatch):
    """Without a first frame, the process ends silently."""
    before = signal.getsignal(signal.SIGINT)
    said = io.BytesIO()
    monkeypatch.setattr(answering, "_own_streams", lambda: (io.BytesIO(), said))
    try:
        with warnings.catch_warnings():
            answering.answer(None, opens_files=False)
    finally:
        signal.signal(signal.SIGINT, before)

    assert said.getvalue() == b""
