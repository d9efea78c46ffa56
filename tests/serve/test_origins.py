# SPDX-License-Identifier: Apache-2.0
"""Cross-origin access to responses, and the host names that a server accepts."""

from __future__ import annotations

import socket

import pytest

from kgbench.serve.settings import Settings
from kgbench.serve.startup import host_names
from tests.serve.conftest import asking
from tests.serve.listening import listening
from tests.serve.test_starting import serve, stand

__all__ = ["stand"]
ORIGIN = "https://pages.example"
LOOKUP = "/sparql?query=SELECT+?p+{+GRAPH+?g+{+%3Curn:a%3E+?p+?o+}+}"


def asked(folder, path="/sparql?query=ASK+%7B%7D", *, method="GET", headers=None, **settings):
    """Return the response of a server with these settings."""
    with asking(folder, **settings) as client:
        return client.request(method, path, headers=headers or {})


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_local_results_are_not_shared(result_store, method):
    """By default, no page of another origin can read a response."""
    response = asked(result_store, method=method, headers={"Origin": ORIGIN})

    assert response.is_success
    assert not [name for name in response.headers if name.startswith("access-control")]
    assert response.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("settings", "origin"),
    [
        ({"cors": "*"}, "*"),
        ({"cors": ORIGIN}, ORIGIN),
        ({"public": "https://example.org/bench/"}, "*"),
        ({"public": "https://example.org/bench/", "cors": ORIGIN}, ORIGIN),
    ],
)
def test_results_are_shared_where_it_is_said(result_store, settings, origin):
    """A configured origin can read responses; with a public address, all origins can."""
    for method in ("GET", "OPTIONS"):
        response = asked(result_store, method=method, headers={"Origin": ORIGIN}, **settings)
        assert response.headers["access-control-allow-origin"] == origin
    assert "POST" in response.headers["access-control-allow-methods"]


@pytest.mark.parametrize("path", ["/health", LOOKUP, "/sparql?query=ASK+{}", "/", "/ns"])
def test_rebound_name_is_refused(result_store, path):
    """A request with a foreign host name gets 421, also on look-ups."""
    with listening(result_store, hosts=host_names("127.0.0.1", None)) as url:
        own = _status(url, path, url.split("/")[2])
        other = _status(url, path, "rebound.example")

    assert own in (b"200", b"303")
    assert other == b"421"


def _status(url, path, host):
    """Return the status of a GET with a Host header."""
    port = int(url.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        return connection.makefile("rb").read().split()[1]


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *(("localhost:1", True), ("LOCALHOST.", True), ("127.0.0.1", True), ("[::1]:80", True)),
        *(("10.1.2.3:8080", False), ("example.org", True), ("results", True)),
        *(("example.org.evil.example", False), ("", False), ("localhost@evil", False)),
        *(("127.0.0.1.evil.example:80", False), ("evil:99999999", False), ("\xff", False)),
    ],
)
def test_own_names(host, own):
    """Loopback addresses, names of this machine and the public name are accepted."""
    hosts = host_names("results", "https://example.org/bench/")
    assert Settings("memory:", hosts=hosts).is_own(host) is own


@pytest.mark.parametrize("given", ["0.0.0.0", "::", "10.1.2.3"])
def test_addresses_that_the_server_was_started_with(given):
    """A server at all addresses accepts every IP address, and one at an address that address."""
    settings = Settings("memory:", hosts=host_names(given, None))
    assert settings.is_own("10.1.2.3:8080")
    assert settings.is_own("10.1.2.4:8080") is (given != "10.1.2.3")
    assert not settings.is_own("rebound.example")


def test_options_of_the_command(result_store, stand):
    """The command sets the origin and the accepted host names."""
    done = serve("--store", result_store, "--port", "0", "--cors", ORIGIN)
    refused = serve("--store", result_store, "--cors", "pages.example, x")

    assert done.exit_code == 0, done.output
    assert stand[0].settings.shared_with == ORIGIN
    assert not stand[0].settings.is_own("rebound.example")
    assert refused.exit_code == 2
    assert "--cors" in refused.output
    assert "is not an origin" in refused.output
