# SPDX-License-Identifier: Apache-2.0
"""The main loop of a judging process, run in the test's process without lockdown."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import tempfile
import warnings
from types import SimpleNamespace

import pytest

from kgbench.children import lockdown
from kgbench.children.endings import OUT_OF_MEMORY
from kgbench.execution import child, frames
from kgbench.execution.shared_status import SIZE, SharedStatus, query_digest
from kgbench.execution.warming import warm_task_class
from kgbench.tasks import catalogue
from tests.execution.judging.probing import case

QUERY = "SELECT ?o { ?s ?p ?o }"


@pytest.fixture
def board():
    """Yield the descriptor of a shared status file."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        yield file.fileno()


@pytest.fixture
def answers(monkeypatch, board):
    """Return a function that sends requests to the main loop and returns its answers."""
    import kgbench_probe  # on the path while these tests run

    def loaded(name):
        return kgbench_probe if name == "Probe" else warm_task_class(name)

    def sent(*requests, **setup):
        first = {
            "parent": 0, "board": board, "engine": "oxigraph", "memory_bytes": 1 << 30,
            "classes": ["Probe"], "graphs": [], "task_key": None,
            "policy": None, "loads": [], **setup,
        }  # fmt: skip
        heard = io.BytesIO(b"".join(frames.encode(one) for one in (first, *requests)))
        said = io.BytesIO()
        monkeypatch.setattr(child, "_own_streams", lambda: (heard, said))
        monkeypatch.setattr(child, "warm_task_class", loaded)
        monkeypatch.setattr(lockdown, "die_with_parent", lambda _: None)
        monkeypatch.setattr(lockdown, "lock_down", lambda _: None)
        before = signal.getsignal(signal.SIGINT)
        try:
            with warnings.catch_warnings():
                child.main()
        finally:
            signal.signal(signal.SIGINT, before)
            logging.disable(logging.NOTSET)
        return list(frames.Decoder().feed(said.getvalue()))

    return sent


def asked(answer, number=0, expired=None, *, known=False, task_class="Probe"):
    """Return a request about a case, which it contains unless ``known``."""
    message = {"answers": [answer], "expired": expired or {}, "number": number}
    held = frames.case_to_json(case(number, task_class=task_class))
    return message if known else message | {"case": held}


def test_each_request_has_its_answer(answers):
    """Verdicts have the order of requests; cases are known by number until forgotten."""
    ready, *found = answers(
        asked("echo a"),
        asked("echo b", known=True),
        asked("echo c", 1) | {"forget": True},
        asked("fail because"),
        asked("no-json", 1, known=True),
        asked("no-number", 1, known=True),
        asked("echo d", task_class="Nobody"),
    )

    assert ready == {"ready": True}
    told = [one.get("verdict", {}).get("infos", {}).get("argument") for one in found]
    assert told[:3] == ["a", "b", "c"]
    errors = [one["error"] for one in found[3:]]
    words = ("RuntimeError: because", "not JSON", "could not convert", "Nobody cannot be used")
    assert all(word in error for word, error in zip(words, errors, strict=True))


def test_queries_are_noted_while_they_run(answers, board, monkeypatch):
    """The shared status names exactly the running query, and no query that hit a limit."""
    noted = []
    monkeypatch.setattr(SharedStatus, "enter", lambda _, digest: noted.append(digest))
    ready, ran, ended = answers(
        asked(f"query {QUERY}"), asked(f"query {QUERY}", 1, {query_digest(QUERY): "memory"})
    )

    assert ready == {"ready": True}
    assert set(noted) == {query_digest(QUERY)}
    assert ran["verdict"]["infos"]["rows"] == 60
    assert ended["verdict"]["infos"]["expired"]
    assert "memory limit" in ended["verdict"]["infos"]["error"]


def test_what_cannot_be_loaded_is_said(answers):
    """An unknown engine is reported; a class that cannot be loaded affects no other one."""
    (failed,) = answers(engine="nonesuch")
    ready, found = answers(asked("echo a"), classes=["Nonesuch", "RdfFriendCount", "Probe"])

    assert "nonesuch" in failed["failed"]
    assert ready == {"ready": True}
    assert found["verdict"]["infos"]["argument"] == "a"


def test_who_has_no_memory_left_ends_with_the_status_that_says_so(answers, monkeypatch):
    """A process without memory ends with the status for it, and answers nothing more."""
    ended = []

    def end(status):
        ended.append(status)
        raise SystemExit

    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(SystemExit):
        answers(asked("echo a"), asked("burst"), asked("echo b"))

    assert ended == [OUT_OF_MEMORY]


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
            requests, replies = map(stack.enter_context, child._own_streams())
            printed, read = os.write(1, b"not a frame"), os.read(0, 1)
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
            for descriptor in (*kept, heard, said):
                os.close(descriptor)
        for descriptor in (speaking, listening):
            stack.callback(os.close, descriptor)
        os.write(speaking, frames.encode({"n": 1}))
        replies.write(frames.encode(frames.read(requests)))
        replies.flush()

        assert (printed, read) == (11, b"")
        assert os.read(listening, 100) == frames.encode({"n": 1})


def test_a_module_prepares_what_it_reads_late(monkeypatch):
    """A task class can read more than its texts before the lockdown."""
    done = []
    module = SimpleNamespace(prepare=lambda: done.append("read"))
    monkeypatch.setattr(catalogue, "module", lambda _: module)

    assert warm_task_class("RdfFriendCount") is module
    assert done == ["read"]


def test_no_frame_is_no_work(monkeypatch):
    """Without a first frame, the process ends silently."""
    before = signal.getsignal(signal.SIGINT)
    said = io.BytesIO()
    monkeypatch.setattr(child, "_own_streams", lambda: (io.BytesIO(), said))
    try:
        with warnings.catch_warnings():
            child.main()
    finally:
        signal.signal(signal.SIGINT, before)

    assert said.getvalue() == b""
