# SPDX-License-Identifier: Apache-2.0
"""The client of the provider SDKs: certificates and proxies of the environment, large answers."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest

from kgbench.connectors import openai
from kgbench.errors import ProviderError
from tests.connectors import KEY, PATIENCE, asked, setup_for
from tests.support.servers import certificates
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """Return a certificate of this machine that nobody trusts yet, and the server's context."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made, private = certificates.made(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, private)
    return str(made), tls


def ask(url):
    """Return the answer of a server."""

    async def talk():
        async with openai.open(setup_for("openai", "m", url), PATIENCE) as connector:
            return (await connector.ask(asked())).text

    return asyncio.run(talk())


def test_certificates_are_checked(certificate, monkeypatch):
    """A server with an untrusted certificate gets no request; a trusted one does."""
    file, tls = certificate
    with LoopbackServer(OpenAISpeech(), tls=tls) as server:
        with pytest.raises(ProviderError, match="certificate verify failed"):
            ask(server.url)
        assert server.ledger == []
        monkeypatch.setenv("SSL_CERT_FILE", file)
        assert ask(server.url)


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_proxies_are_used(certificate, monkeypatch, secure):
    """An answer comes through the proxy, for https through a tunnel."""
    file, tls = certificate
    for name, value in {"SSL_CERT_FILE": file, "NO_PROXY": "", "no_proxy": ""}.items():
        monkeypatch.setenv(name, value)
    with (
        LoopbackServer(OpenAISpeech(), tls=tls if secure else None) as server,
        proxy() as (address, lines),
    ):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
        assert ask(server.url)

    assert [line.split()[0] for line in lines] == ["CONNECT" if secure else "POST"]


@contextmanager
def proxy():
    """Run an HTTP proxy for one request; yield its address and the first lines it received."""
    lines = []
    listening = socket.create_server(("127.0.0.1", 0))

    def pass_on(source, target):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def serve():
        client, _ = listening.accept()
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        lines.append(head.split(b"\r\n")[0].decode())
        method, target, _ = lines[0].split()
        host, _, port = target.removeprefix("http://").split("/")[0].partition(":")
        with client, socket.create_connection((host, int(port))) as server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: here\r\n\r\n")
            else:
                path = b"/" + target.encode().split(b"/", 3)[3]
                server.sendall(head.replace(target.encode(), path))
            back = threading.Thread(target=pass_on, args=(server, client), daemon=True)
            back.start()
            pass_on(client, server)
            back.join(60)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", lines
        thread.join(60)
