# SPDX-License-Identifier: Apache-2.0
"""The main loop of a judging process, run in the test's process without lockdown."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import tempfile
import warnings
from types import SimpleNamespace

import pytest

from kgbench.children import answering, lockdown
from kgbench.children import answering as pipes
from kgbench.children.answering import OUT_OF_MEMORY
from kgbench.execution import child, frames
from kgbench.execution.child import warm_task_class
from kgbench.execution.frames import SIZE, SharedStatus, query_digest
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
        heard = io.BytesIO(
            b"".join(pipes.packed_frame(frames.encode(one)) for one in (first, *requests))
        )
        said = io.BytesIO()
        monkeypatch.setattr(answering, "_own_streams", lambda: (heard, said))
        monkeypatch.setattr(child, "warm_task_class", loaded)
        monkeypatch.setattr(lockdown, "die_with_parent", lambda _: None)
        monkeypatch.setattr(lockdown, "lock_down", lambda _, opens_files: opens_files)
        before = signal.getsignal(signal.SIGINT)
        try:
            with warnings.catch_warnings():
                answering.answer(child._prepare, opens_files=False)
        finally:
            signal.signal(signal.SIGINT, before)
            logging.disable(logging.NOTSET)
        return [frames.decode(one) for one in pipes.FrameDecoder().feed(said.getvalue())]

    return sent


def asked(answer, number=0, expired=None, *, known=False, task_class="Probe"):
    """Return a request about a case, which it contains unless ``known``."""
    message = {"answers": [answer], "expired": expired or {}, "number": number}
    held = json.loads(frames.encode(case(number, task_class=task_class)))
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

    assert ready == {"isolated": False}
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

    assert ready == {"isolated": False}
    assert set(noted) == {query_digest(QUERY)}
    assert ran["verdict"]["infos"]["rows"] == 60
    assert ended["verdict"]["infos"]["expired"]
    assert "memory limit" in ended["verdict"]["infos"]["error"]


def test_what_cannot_be_loaded_is_said(answers):
    """An unknown engine is reported; a class that cannot be loaded affects no other one."""
    (failed,) = answers(engine="nonesuch")
    ready, found = answers(asked("echo a"), classes=["Nonesuch", "RdfFriendCount", "Probe"])

    assert "nonesuch" in failed["failed"]
    assert ready == {"isolated": False}
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


def test_a_module_prepares_what_it_reads_late(monkeypatch):
    """A task class can read more than its texts before the lockdown."""
    done = []
    module = SimpleNamespace(prepare=lambda: done.append("read"))
    monkeypatch.setattr(catalogue, "module", lambda _: module)

    assert warm_task_class("RdfFriendCount") is module
    assert done == ["read"]
