# SPDX-License-Identifier: Apache-2.0
"""The receiver of responses: its log, its connections, and its end."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors import openai
from kgbench.errors import ProviderError
from kgbench.net import links, receiver_process, response_log
from kgbench.net.receiver_process import RECEIVER, ReceiverProcess
from kgbench.net.response_log import LoggedResponse, NoMatchingKey, Response, derive_key, encryptor
from tests.connectors import KEY, PATIENCE, asked, setup_for
from tests.support.servers import certificates, scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import Behaviour

HEAD = b"HTTP/1.1 200 OK\r\nX-Request-Id: r1\r\n"
RESPONSES = {
    "of a length": HEAD + b"Content-Length: 10\r\n\r\n0123456789",
    "in chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
    "after an interim one": b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 1\r\n\r\n0",
}
LONELY = """
import sys, time
from pathlib import Path
from kgbench.net.receiver_process import ReceiverProcess
receiver = ReceiverProcess(Path(sys.argv[1]), sync=False)
link = receiver.link()
print(receiver._process.pid, flush=True)
time.sleep(600)
"""


def logged(*pieces, key=None, number=7):
    """Return a response as read from the log."""
    if key is not None:
        seal = encryptor(derive_key(key))
        pieces = [seal(piece, b"%d/%d" % (number, k)) for k, piece in enumerate(pieces)]
    return LoggedResponse({}, number, key is not None, 0.0, tuple(pieces))


@contextmanager
def receiver(folder):
    """Run a receiver for the requests made in the ``with`` block."""
    made = ReceiverProcess(folder, sync=True)
    token = RECEIVER.set(made)
    try:
        yield made
    finally:
        RECEIVER.reset(token)
        made.close()


def ask(url, times=1, about="a question"):
    """Return the answers of a server, asked as by a run, with their exchanges."""

    async def talk():
        found = []
        async with openai.open(setup_for("openai", "m", url), PATIENCE) as connector:
            for _ in range(times):
                with receiver_process.exchange({"about": about}, KEY) as exchange:
                    found.append(((await connector.ask(asked())).text, exchange))
        return found

    return asyncio.run(talk())


def wait_for(condition):
    """Wait until ``condition`` holds, at most a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def runs(process):
    """Return whether a process with this id exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """Set the API key of the requests."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@given(st.sampled_from(sorted(RESPONSES)), st.lists(st.integers(0, 150), max_size=5), st.booleans())
def test_a_response_is_put_together(name, cuts, sealed):
    """A response does not depend on how it was split; a truncated one is no response."""
    data = RESPONSES[name]
    ends = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    pieces = [data[a:b] for a, b in pairwise(ends)]
    found = logged(*pieces, key=KEY if sealed else None).response([KEY])

    assert found is not None
    assert (found.status, found.headers[0]) == (200, (b"X-Request-Id", b"r1"))
    assert found.body == b"0123456789"[: len(found.body)]
    assert logged(data[:-1]).response([]) is None


def test_what_is_no_http_is_no_response():
    """Bytes that are not HTTP, and no bytes at all, are no response."""
    for data in (
        b"",
        b"\x16\x03\x01 no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ):
        assert logged(data).response([]) is None


def test_only_the_key_opens():
    """A sealed response can be read with the key of its request only."""
    found = logged(RESPONSES["of a length"], key=KEY)

    assert KEY.encode() not in b"".join(found.pieces)
    assert LoggedResponse.of_json(json.loads(json.dumps(found.json()))) == found
    assert isinstance(found.response(["another", KEY]), Response)
    with pytest.raises(NoMatchingKey):
        found.response(["another"])


def test_what_is_needed_no_more_is_gone(tmp_path):
    """Responses are kept while one of them is needed; otherwise no file is left."""
    with LoopbackServer(OpenAISpeech(), script=scripts.always(delay=0.01)) as server:
        with receiver(tmp_path / "log") as made:
            answers = ask(server.url, 3)
            made.done(answers[1][1].number)  # the responses beside it are still needed
        with response_log.take_responses(tmp_path / "log") as found:
            numbers = [one.exchange for one in found]
            bodies = [json.loads(one.response([KEY]).body) for one in found]
        with receiver(tmp_path / "other") as made:
            for _, exchange in ask(server.url, 3):
                made.done(exchange.number)

    assert numbers == [exchange.number for _, exchange in answers]
    assert [body["choices"][0]["message"]["content"] for body in bodies] == [answers[0][0]] * 3
    assert not (tmp_path / "log").exists()
    assert not (tmp_path / "other").exists()


def test_a_receiver_that_was_killed_is_replaced(tmp_path):
    """A killed receiver loses its connections; the next call starts another receiver."""
    with LoopbackServer(OpenAISpeech()) as server, receiver(tmp_path / "log") as made:
        first = ask(server.url)
        made._process.kill()
        made._process.wait()
        second = ask(server.url)

    assert [text for text, _ in first] == [text for text, _ in second]


def test_connections_are_used_again(tmp_path):
    """A connection is reused for later calls, and replaced after the server closes it."""
    script = scripts.sequence(Behaviour(scripts.CUT))
    with LoopbackServer(OpenAISpeech(), script=script) as server, receiver(tmp_path / "log"):
        with pytest.raises(ProviderError, match="the connection failed"):
            ask(server.url)
        assert len(ask(server.url, 3)) == 3


def test_no_connection_is_told_in_words(tmp_path):
    """If no server listens, the error names the host, as it does without a receiver."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with (
        receiver(tmp_path / "log"),
        pytest.raises(ProviderError, match=f"127.0.0.1:{port}.*the connection failed"),
    ):
        ask(f"http://127.0.0.1:{port}/v1")


def test_certificates_are_checked(tmp_path, monkeypatch):
    """A server with an untrusted certificate gets no request; a trusted one does."""
    certificate, private = certificates.made(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, private)
    with LoopbackServer(OpenAISpeech(), tls=tls) as server:
        with (
            receiver(tmp_path / "log"),
            pytest.raises(ProviderError, match="certificate verify failed"),
        ):
            ask(server.url)
        assert server.ledger == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with receiver(tmp_path / "log"):
            ((text, _),) = ask(server.url)
        with response_log.take_responses(tmp_path / "log") as found:
            (body,) = [json.loads(one.response([KEY]).body) for one in found]

    assert body["choices"][0]["message"]["content"] == text


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_proxies_are_used(tmp_path, monkeypatch, secure):
    """Through a proxy, only the server's response is logged, not the proxy's."""
    certificate, private = certificates.made(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, private)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with (
        LoopbackServer(OpenAISpeech(), tls=tls if secure else None) as server,
        proxy() as (address, lines),
        receiver(tmp_path / "log"),
    ):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
        ((text, _),) = ask(server.url)
    with response_log.take_responses(tmp_path / "log") as found:
        (response,) = [one.response([KEY]) for one in found]

    assert json.loads(response.body)["choices"][0]["message"]["content"] == text
    assert [line.split()[0] for line in lines] == ["CONNECT" if secure else "POST"]


@contextmanager
def proxy():
    """Run an HTTP proxy for one request; yield its address and the first lines it received."""
    lines = []
    listening = socket.create_server(("127.0.0.1", 0))

    def relay(source, target):
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
                server.sendall(
                    head.replace(target.encode(), b"/" + target.encode().split(b"/", 3)[3])
                )
            back = threading.Thread(target=relay, args=(server, client), daemon=True)
            back.start()
            relay(client, server)
            back.join(60)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", lines
        thread.join(60)


def test_a_receiver_ends_with_its_run(tmp_path):
    """A receiver ends when its run is killed and no request is under way."""
    command = [sys.executable, "-c", LONELY, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        number = int(process.stdout.readline())
        assert runs(number)
        process.kill()
    wait_for(lambda: not runs(number))


def test_a_receiver_with_a_run_stays(tmp_path):
    """SIGTERM and SIGINT do not end a receiver whose run continues."""
    with LoopbackServer(OpenAISpeech()) as server, receiver(tmp_path / "log") as made:
        ask(server.url)
        for one in (signal.SIGTERM, signal.SIGINT):
            made._process.send_signal(one)
        assert len(ask(server.url)) == 1
        assert made._process.poll() is None


def test_a_large_response_comes_whole(tmp_path, monkeypatch):
    """A response larger than all buffers on the way arrives and is logged completely."""
    text = "x" * (3 * links._AHEAD)
    with (
        LoopbackServer(OpenAISpeech(), answer=lambda _: text) as server,
        receiver(tmp_path / "log"),
    ):
        ((answer, _),) = ask(server.url)
    with response_log.take_responses(tmp_path / "log") as found:
        (response,) = [one.response([KEY]) for one in found]

    assert answer == text
    assert json.loads(response.body)["choices"][0]["message"]["content"] == text


def test_a_full_disk_leaves_answers_readable(tmp_path):
    """If the log cannot be written, answers still arrive; once it can, they are logged again."""
    with LoopbackServer(OpenAISpeech()) as server, receiver(tmp_path / "log") as made:
        ask(server.url)
        process = made._process.pid
        resource.prlimit(process, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        full = ask(server.url, 2)
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process, resource.RLIMIT_FSIZE, unlimited)
        ((_, last),) = ask(server.url)
        assert made._process.poll() is None
    with response_log.take_responses(tmp_path / "log") as found:
        numbers = [one.exchange for one in found]
        whole = [one.response([KEY]) is not None for one in found]

    assert len(full) == 2
    assert numbers[-1] == last.number
    assert not {exchange.number for _, exchange in full} & set(numbers)
    assert whole == [True, True]


@pytest.mark.parametrize("fault", ["no process", "ends at once"])
def test_no_receiver_is_told_in_words(tmp_path, monkeypatch, fault):
    """If no receiver can be started, the error says so and no request is sent."""

    def refused(*_, **__):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    if fault == "no process":
        monkeypatch.setattr(subprocess, "Popen", refused)
    else:
        monkeypatch.setattr(receiver_process, "PROGRAM", ("-c", ""))
    with LoopbackServer(OpenAISpeech()) as server:
        with (
            receiver(tmp_path / "log"),
            pytest.raises(ProviderError, match="process that receives responses"),
        ):
            ask(server.url)
        assert server.ledger == []


@pytest.mark.parametrize("batch", [False, True])
def test_what_wakes_at_once_keeps_its_policy_and_niceness(batch):
    """Asking for short time slices changes neither scheduling policy nor niceness."""
    code = (
        "import os; from kgbench.net.scheduling import request_short_slice as soon; os.nice(3);"
        f"{batch} and os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0));"
        "policy = os.sched_getscheduler(0); asked = soon();"
        "assert not asked or policy == os.SCHED_OTHER;"
        "print(os.sched_getscheduler(0) == policy, os.nice(0))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    before = os.getpriority(os.PRIO_PROCESS, 0)

    assert done.stdout.split() == ["True", str(min(before + 3, 19))], done.stderr
