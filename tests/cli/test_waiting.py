# SPDX-License-Identifier: Apache-2.0
"""The display of a run that waits for a rate-limited server."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from tests.connectors import KEY
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

TASK = "RdfConnectionExplainStatic-turtle"


def patient(*, after):
    """Return a server that answers the first call, and rate-limits all others."""
    limited = scripts.Behaviour(scripts.RATE_LIMIT, retry_after=after)
    script = scripts.sequence(scripts.ANSWER, limited)
    return LoopbackServer(OpenAISpeech(echo_key=True), script=script)


def words(server, store):
    """Return the arguments of a run of two dialogues on a server."""
    spec = f"openai:small@{server.root}"
    return ["run", "--store", str(store), "--task", TASK, "-n", "2", "-c", "1", "--model", spec]


def test_a_line_says_what_is_waited_for(tmp_path, monkeypatch):
    """Without a terminal, one line names status, host and seconds, and no key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with patient(after="2") as server:
        done = CliRunner().invoke(app, words(server, tmp_path / "store"))
        host = server.root.removeprefix("http://")

    assert done.exit_code == 0
    waits = [line for line in done.stderr.splitlines() if "waiting: " in line]
    assert len(waits) == 1
    assert waits[0].endswith(f": waiting: 429 from {host}, next attempt in 2 s")
    assert KEY not in done.output


def test_a_terminal_shows_a_live_line(tmp_path):
    """On a terminal the line counts down, and disappears."""
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "TERM": "xterm", "COLUMNS": "100"}
    with patient(after="3") as server:
        above, below = pty.openpty()
        command = [sys.executable, "-m", "kgbench", *words(server, tmp_path / "store")]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=below
        ) as run:
            os.close(below)
            said = _read(above)
        host = server.root.removeprefix("http://")

    assert run.returncode == 0, said
    seconds = re.findall(rf"waiting: 429 from {re.escape(host)}, next attempt in (\d) s", said)
    assert seconds[0] == "3"
    assert set(seconds) >= {"3", "2", "1"}
    assert KEY not in said
    assert "waiting" not in said.rpartition("\x1b[2K")[2]


def _read(terminal):
    """Return the output of a pseudo-terminal until its other end is closed."""
    said = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # raised on Linux when the other end is closed
            piece = b""
        if not piece:
            os.close(terminal)
            return said.decode("utf-8", "replace")
        said += piece
