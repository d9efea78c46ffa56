# SPDX-License-Identifier: Apache-2.0
"""Servers of one provider, for tests of runs."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech


@pytest.fixture
def loopback(monkeypatch):
    """Yield a function that starts a server by script; it returns the server and its spec."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with ExitStack() as started:

        def start(script=None, **details):
            made = LoopbackServer(OpenAISpeech(), script=script, **details)
            server = started.enter_context(made)
            return server, f"openai:loopback@{server.url}"

        yield start


@pytest.fixture
def server(loopback):
    """Return a server that answers everything."""
    return loopback()[0]
