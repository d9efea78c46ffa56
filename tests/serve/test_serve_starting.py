# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve`` before it serves: where it listens, what it says, and what it refuses."""

from __future__ import annotations

import socket

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import ConfigurationError, StoreError
from kgbench.serve import startup


class Stand:
    """In the place of a server: notes what it was given."""

    def __init__(self, settings):
        self.settings = settings
        self.sockets = []

    def run(self, sockets):
        """Look whether somebody may come."""
        self.sockets = [one.getsockname()[:2] for one in sockets]
        socket.create_connection(self.sockets[0]).close()


def has_ipv6():
    """Whether somebody can listen at the IPv6 address of this machine."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture
def stand(monkeypatch):
    """The servers that would have been started."""
    made = []
    monkeypatch.setattr(startup, "server", lambda given: made.append(Stand(given)) or made[-1])
    return made


def serve(*arguments):
    """What the command does with arguments."""
    return CliRunner().invoke(app, ["serve", *map(str, arguments)])


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_where_it_listens_is_said(result_store, stand, host, shown):
    """Somebody can connect, at the address that is printed, when the server begins."""
    if host == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    done = serve("--store", result_store, "--port", "0", "--host", host, "--timeout", "7")

    assert done.exit_code == 0, done.output
    ((there, port),) = stand[0].sockets
    lines = done.output.splitlines()
    assert there == host
    assert lines[0] == f"serving {result_store}"
    assert lines[1].split() == ["pages", f"http://{shown}:{port}/"]
    assert lines[2].split() == ["SPARQL", f"http://{shown}:{port}/sparql"]
    assert stand[0].settings.limits.seconds == 7.0
    assert stand[0].settings.token is None


def test_taken_port_is_said(result_store, stand):
    """A port at which somebody listens already is named."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve("--store", result_store, "--port", port)

    assert isinstance(done.exception, StoreError)
    assert f"cannot listen on 127.0.0.1:{port}" in str(done.exception)


def test_update_needs_a_token_in_the_environment(result_store, stand, monkeypatch):
    """Without a token the server does not start to take updates; with one it takes them."""
    refused = serve("--store", result_store, "--update")
    monkeypatch.setenv("KGBENCH_SERVE_TOKEN", "open sesame")
    done = serve("--store", result_store, "--port", "0", "--update")

    assert isinstance(refused.exception, ConfigurationError)
    assert "KGBENCH_SERVE_TOKEN" in str(refused.exception)
    assert done.exit_code == 0, done.output
    assert [one.settings.token for one in stand] == ["open sesame"]


def test_missing_store_is_said(tmp_path):
    """A store that is not there is an error with words."""
    done = serve("--store", tmp_path / "none")

    assert isinstance(done.exception, StoreError)
    assert "there is no store" in str(done.exception)


def test_remote_store_is_not_served(stand):
    """A server of somebody else has its own endpoint."""
    done = serve("--store", "http://127.0.0.1:9/")

    assert isinstance(done.exception, StoreError)
    assert stand == []
