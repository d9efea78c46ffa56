# SPDX-License-Identifier: Apache-2.0
"""No misbehaving server gets a key, hangs a client, fills its memory or causes a traceback."""

from __future__ import annotations

import pytest

from kgbench.datasets import install
from kgbench.execution import endpoint
from kgbench.importers.rdf import sources
from kgbench.net import limits
from kgbench.secrets import SecretDetector
from kgbench.store import connections
from tests.attacks import clients, servers
from tests.attacks.servers import ATTACKS, Server

SIZE = 1 << 22  # bytes that an attack sends, or decompresses to
MOST = 1 << 20  # bytes that a client accepts
#: Attacks that last until the client's timeout; only one client of each kind meets them.
LONG = {"drip of a header", "drip of a body", "silence"}
KINDS = ("openai", "endpoint", "store, ASK", "import rdf, file")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Set limits that a test reaches quickly."""
    for module, name in (
        *((limits, "REPLY"), (limits, "_EXEMPT"), (endpoint, "MOST_BYTES")),
        *((connections, "MOST_BYTES"), (sources, "MAX_BYTES"), (install, "_LARGEST")),
        (sources, "_MAX_SUMS"),
    ):
        monkeypatch.setattr(module, name, MOST)
    for module, name in ((sources, "MAX_SECONDS"), (install, "_PATIENCE")):
        monkeypatch.setattr(module, name, clients.SECONDS)
    monkeypatch.setattr(endpoint, "_LONGEST_WAIT", 0.01)
    monkeypatch.setattr(servers, "LONGEST", 20.0)
    for name, value in clients.VARIABLES.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("client", clients.CLIENTS)
def test_every_attack_on_every_client(client, attack):
    """A client ends every attack with a message of kgbench that contains no key."""
    if not clients.installed(client):
        pytest.skip(f"{client} is not installed")
    if attack in LONG and client not in (*KINDS, "google_legacy's session"):
        pytest.skip("tried with another client of the kind")
    with Server(None) as elsewhere, Server(attack, SIZE, elsewhere.url) as server:
        said = clients.said(client, server.url)

    planted = SecretDetector([clients.KEY, clients.PASSWORD])
    assert not planted.tells(said)
    assert not any(planted.tells(one.decode("latin-1")) for one in elsewhere.requests)
    assert server.requests


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "client",
    [name for name in clients.CLIENTS if not name.startswith(("import", "datasets"))],
)
def test_clients_with_credentials_stay(client, status):
    """A client that may carry a credential does not follow a redirect to another server."""
    if not clients.installed(client):
        pytest.skip(f"{client} is not installed")
    with Server(None) as elsewhere, Server(f"redirect {status}", SIZE, elsewhere.url) as server:
        said = clients.said(client, server.url)

    assert not elsewhere.requests
    words = ("redirect", "TooManyRedirects", "HTTP 30", "answers")
    assert any(word in said for word in words), said


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("gzip bomb", "unpacks to more than|more than 1 MB|larger than"),
        ("gzip bomb of many members", "unpacks to more than|more than 1 MB|larger than"),
        ("endless body", "more than 1 MB|larger than"),
        ("endless chunks", "more than 1 MB|larger than"),
        ("Retry-After of 3,000 years", "which is too long|does not answer|429"),
    ],
)
@pytest.mark.parametrize("client", ["openai", "openai results", "anthropic", "google", *KINDS[1:]])
def test_limits_are_told(client, attack, words):
    """A response that is too large or too slow is refused with that reason."""
    if not clients.installed(client):
        pytest.skip(f"{client} is not installed")
    if (client, attack[:7]) == ("openai results", "endless"):
        pytest.skip("a stream of lines may be larger")
    with Server(attack, SIZE) as server:
        said = clients.said(client, server.url)

    assert any(word in said for word in words.split("|")), said


@pytest.mark.parametrize("client", ["google_legacy's session", *KINDS[1:]])
def test_headers_without_end_are_told(client, monkeypatch):
    """An endless series of interim responses counts as headers and ends soon."""
    if not clients.installed(client):
        pytest.skip(f"{client} is not installed")
    for module, name in ((limits, "REPLY"), (endpoint, "MOST_BYTES"), (connections, "MOST_BYTES")):
        monkeypatch.setattr(module, name, 1 << 40)
    monkeypatch.setattr(sources, "MAX_BYTES", 1 << 40)
    monkeypatch.setattr(sources, "MAX_SECONDS", 60.0)
    monkeypatch.setattr(clients, "SECONDS", 240.0)  # an endpoint gets a quarter of it
    monkeypatch.setenv("KGBENCH_STORE_TIMEOUT", "60")
    with Server("endless 100 Continue", 1 << 40) as server:
        said = clients.said(client, server.url)

    assert any(word in said for word in ("more than 128 KB of headers", "InvalidResponse")), said
