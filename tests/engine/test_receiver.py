# SPDX-License-Identifier: Apache-2.0
"""The receiver of a run: when it is started, and how it and the run end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from kgbench.net.receiver_process import ReceiverProcess
from kgbench.store import open_store
from tests.engine.test_arrivals import KEY, all_files, killed
from tests.engine.test_replies import kgbench, plan_of, words
from tests.support.runs import hold
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech


@pytest.fixture
def asked_slowly(monkeypatch):
    """Yield a server that takes half a second for each answer, and the spec of its model."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer(OpenAISpeech(), script=scripts.always(delay=0.5)) as server:
        yield server, f"openai:loopback@{server.url}"


def receivers(process):
    """Return the ids of the receivers that a process has started."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    lines = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [int(a) for a, b, c in lines if int(b) == process and "kgbench.net.receiver" in c]


def gone(process):
    """Return whether a process ends within a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def started(place, spec, *options):
    """Start a run as a process."""
    command = [sys.executable, "-m", "kgbench", *words(place, spec, *options)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_what_is_under_way(tmp_path, asked_slowly, kind):
    """After Ctrl-C or SIGTERM pending answers are received and stored, and the receiver ends."""
    server, spec = asked_slowly
    place = tmp_path / "store"
    with started(place, spec, "--concurrency", "1") as process:
        server.requests(1)
        (receiver,) = receivers(process.pid)
        os.killpg(process.pid, kind)  # as a terminal does
        _, said = process.communicate(timeout=60)
    done = kgbench(*words(place, spec))

    assert gone(receiver)
    assert "Traceback" not in said
    assert process.returncode == 130
    assert json.loads(done.stdout)["recovered"] == 0
    assert len(server.ledger) == len(server.acknowledged) == 4
    assert not (place / "write-ahead").exists()


def test_a_run_outlives_its_receiver(tmp_path, asked_slowly):
    """Calls of a killed receiver are made again by a new one."""
    server, spec = asked_slowly
    place = tmp_path / "store"
    with started(place, spec) as process:
        server.requests(1)
        (receiver,) = receivers(process.pid)
        os.kill(receiver, signal.SIGKILL)
        out, said = process.communicate(timeout=60)

    assert process.returncode == 0, said
    assert json.loads(out)["complete"] == 4
    assert KEY.encode() not in all_files(place)
    assert not (place / "write-ahead").exists()


def test_no_receiver_where_nobody_is_asked(tmp_path, monkeypatch):
    """A run of models in this process starts no receiver."""

    def never(_):
        pytest.fail("a receiver was started")

    monkeypatch.setattr(ReceiverProcess, "_start", never)
    place = tmp_path / "store"
    with open_store(str(place)) as store:
        done = hold(store, plan_of("baseline:oracle"))

    assert done.complete == 4


def test_status_counts_what_was_not_read(tmp_path, monkeypatch):
    """Answers that arrived for a killed session are counted, with and without its key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    place = tmp_path / "store"
    with LoopbackServer(OpenAISpeech()) as server:
        spec = f"openai:loopback@{server.url}"
        assert kgbench(*words(place, spec, iterations=1)).returncode == 0
        kept = killed(words(place, spec), place, 3)
        (known,) = json.loads(kgbench("status", "--json", "--store", place).stdout)
        monkeypatch.delenv("OPENAI_API_KEY")
        (unknown,) = json.loads(kgbench("status", "--json", "--store", place).stdout)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert kgbench(*words(place, spec)).returncode == 0
        (after,) = json.loads(kgbench("status", "--json", "--store", place).stdout)
        asked = len(server.ledger)

    assert (len(kept), asked) == (3, 4)
    assert [state["waiting"] for state in (known, unknown, after)] == [3, 3, 0]
