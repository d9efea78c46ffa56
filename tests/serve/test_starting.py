# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve`` at its start: addresses, output and refusals."""

from __future__ import annotations

import socket

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import StoreError
from kgbench.serve import startup


class Stand:
    """A stand-in for a server that records its settings and sockets."""

    def __init__(self, settings):
        self.settings = settings
        self.sockets = []

    def run(self, sockets):
        """Record the sockets and connect to the first one."""
        self.sockets = [one.getsockname()[:2] for one in sockets]
        socket.create_connection(self.sockets[0]).close()


def has_ipv6():
    """Return whether this machine can listen at its IPv6 loopback address."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture
def stand(monkeypatch):
    """Return a list that collects the servers to be started."""
    made = []
    monkeypatch.setattr(startup, "server", lambda given: made.append(Stand(given)) or made[-1])
    return made


def serve(*arguments):
    """Return the result of the command with these arguments."""
    return CliRunner().invoke(app, ["serve", *map(str, arguments)])


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_where_it_listens_is_said(result_store, stand, host, shown):
    """When the server starts, the printed address accepts connections."""
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
    """A port in use is reported."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve("--store", result_store, "--port", port)

    assert isinstance(done.exception, StoreError)
    assert f"cannot listen on 127.0.0.1:{port}" in str(done.exception)


def test_update_needs_a_token_in_the_environment(result_store, stand, monkeypatch):
    """With --update, the server starts only if the environment has a token."""
    refused = serve("--store", result_store, "--update")
    monkeypatch.setenv("KGBENCH_SERVE_TOKEN", "open sesame")
    done = serve("--store", result_store, "--port", "0", "--update")

    assert refused.exit_code == 2
    assert "KGBENCH_SERVE_TOKEN" in refused.output
    assert done.exit_code == 0, done.output
    assert [one.settings.token for one in stand] == ["open sesame"]


def test_missing_store_is_said(tmp_path):
    """A missing store is an error with a message."""
    done = serve("--store", tmp_path / "none")

    assert isinstance(done.exception, StoreError)
    assert "there is no store" in str(done.exception)


def test_remote_store_is_not_served(stand):
    """A remote store is refused, because it has its own endpoint."""
    done = serve("--store", "http://127.0.0.1:9/")

    assert isinstance(done.exception, StoreError)
    assert stand == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mcp", "--graph", "g.ttl"], "--store: it cannot be used with --graph"),
        (["mcp", "--stdio"], "--port: it cannot be used with --stdio"),
        (["serve", "--base", "foo"], "'--base': 'foo' is not an http or https address"),
        (["serve", "--public", "foo"], "'--public': 'foo' is not an http or https address"),
        (["review", "--public", "http://[x"], "'--public': 'http://[x' is not an http or https"),
    ],
)
def test_options_without_effect_are_refused(result_store, stand, monkeypatch, words, message):
    """An option without effect, or an address that links cannot be made from, is wrong usage."""
    monkeypatch.setenv("COLUMNS", "200")
    command, *rest = words
    given = [command, "--store", str(result_store), "--port", "0", *rest]
    done = CliRunner().invoke(app, given)

    assert done.exit_code == 2
    assert message in done.stderr
    assert stand == []
