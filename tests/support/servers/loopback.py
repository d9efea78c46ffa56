# SPDX-License-Identifier: Apache-2.0
"""A small HTTP/1.1 server on the loopback interface that keeps a ledger of its requests.

In a test, in its own thread::

    with LoopbackServer(OpenAISpeech(), script=sequence("server-error")) as server:
        ...server.url, server.ledger...

or as a process that outlives its client (``python -m tests.support.servers.openai_server``), which
prints one JSON line with its URL and answers ``GET /ledger``; :func:`running` starts and stops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self

from tests.support.servers import scripts
from tests.support.servers.scripts import Behaviour, Entry, Script

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "cookie")


class Response(NamedTuple):
    """A response: status, body (JSON-shaped, or raw bytes), headers, and the charged usage."""

    status: int
    body: Any
    headers: Mapping[str, str] = MappingProxyType({})
    answer: str | None = None
    usage: dict[str, int] | None = None


class Speech(Protocol):
    """A provider's protocol: how requests are read and responses are worded."""

    PREFIX: str
    METHODS: Collection[str]

    def prompt(self, body: Any) -> str:
        """Return the text of the whole conversation in a request body."""
        ...

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:
        """Return the response for a behaviour not in ``WIRE``; ``answer`` is its text."""
        ...


Answerer = Callable[[str], str]


def echo(prompt: str) -> str:
    """Return a short deterministic answer that depends on the whole prompt."""
    return f"answer {hashlib.sha256(prompt.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def fixed(text: str) -> Answerer:
    """Return a function that always answers ``text``."""
    return lambda _: text


def looked_up(answers: dict[str, str]) -> Answerer:
    """Return a function that answers from ``answers`` by prompt, else with :func:`echo`."""
    return lambda prompt: answers[prompt] if prompt in answers else echo(prompt)


def tokens(text: str) -> int:
    """Return the tokens charged for ``text``: one per four characters, at least one."""
    return max(1, len(text) // 4)


def tool_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens charged for the tools that a request offers."""
    return len(json.dumps(body["tools"])) // 4 if body.get("tools") else 0


class LoopbackServer:
    """A server in its own thread (see the module). ``port`` 0 takes any free port.

    ``told`` are JSON documents by path, which it answers ``GET`` with and does not enter.
    """

    def __init__(
        self,
        speech: Speech,
        *,
        script: Script | None = None,
        answer: Answerer = echo,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        told: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.ledger: list[Entry] = []
        self._speech = speech
        self._script = script or scripts.always()
        self._answer = answer
        self._port = port
        self._tls = tls
        self._told = told
        self._parallel = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for the provider's SDK."""
        return f"{self.root}{self._speech.PREFIX}"

    @property
    def root(self) -> str:
        """The URL of the server itself."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def acknowledged(self) -> list[Entry]:
        """The requests that were answered completely, in the order of arrival."""
        return [entry for entry in self.ledger if entry.acknowledged is not None]

    def requests(self, number: int) -> list[Entry]:
        """Return the ledger once it has ``number`` requests; an abandoned request may be late."""
        end = time.monotonic() + 60
        while len(self.ledger) < number and time.monotonic() < end:
            time.sleep(0.01)
        return self.ledger

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the loopback server did not start")
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._converse(reader, writer)
            finally:
                connections.discard(task)
                writer.close()

        server = await asyncio.start_server(
            connected, "127.0.0.1", self._port, backlog=1024, ssl=self._tls
        )
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for _ in range(3):  # so that a connection accepted just now is among them
            await asyncio.sleep(0)
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
        ):
            while await self._exchange(reader, writer):
                pass

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; return false when the connection has ended."""
        method, path, headers, raw = await _read_request(reader)
        if path == "/ledger":
            await _send(writer, Response(200, self._report()))
            return True
        if method == "GET" and path in self._told:
            await _send(writer, Response(200, self._told[path]))
            return True
        if method not in self._speech.METHODS:
            await _send(writer, Response(404, {"error": {"message": "there is nothing here"}}))
            return True
        self._parallel += 1
        try:
            return await self._treat(self._entered(method, path, headers, raw), reader, writer)
        finally:
            self._parallel -= 1

    def _entered(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Entry:
        as_json = "json" in headers.get("content-type", "") and raw
        body = json.loads(raw) if as_json else raw.decode("utf-8")
        digest = hashlib.sha256(json.dumps([path, body], sort_keys=True).encode()).hexdigest()
        number = len(self.ledger)
        entry = Entry(number, path, digest, body, time.time(), self._parallel, headers)
        entry.method = method
        entry.request_id = f"req_{number:08d}"
        self.ledger.append(entry)
        return entry

    async def _treat(
        self, entry: Entry, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        behaviour = self._script(entry)
        entry.kind = behaviour.kind
        if behaviour.delay:
            await asyncio.sleep(behaviour.delay)
        if behaviour.kind == scripts.HANG:
            await reader.read()  # until the client closes the connection
            return False
        if behaviour.kind == scripts.GARBAGE:
            writer.write(b"\x16\x03\x01 this is no HTTP \xff\xfe\r\n\r\n")
            await writer.drain()
            return False
        worded = Behaviour() if behaviour.kind in scripts.WIRE else behaviour
        response = self._speech.respond(
            entry, worded, self._answer(self._speech.prompt(entry.body))
        )
        entry.status = response.status
        if behaviour.kind == scripts.CUT:
            data = _wire(response)
            writer.write(data[: len(data) - len(data) // 4])
            await writer.drain()
            writer.transport.abort()
            return False
        if behaviour.kind == scripts.TRICKLE:
            for byte in _wire(response):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
            return False
        # Recorded first, so that a client that has read the answer finds it in the ledger.
        entry.answer, entry.usage = response.answer, response.usage
        if response.answer is not None:
            entry.acknowledged = time.time()
        try:
            await _send(writer, response)
        except ConnectionError:
            entry.answer = entry.usage = entry.acknowledged = None
            raise
        return True

    def _report(self) -> list[dict[str, Any]]:
        """Return the ledger as JSON, without credentials."""
        entries = [asdict(entry) for entry in self.ledger]
        for entry in entries:
            entry["headers"] = {k: v for k, v in entry["headers"].items() if k not in _CREDENTIALS}
        return entries


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    fields = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return method, path, headers, body


async def _send(writer: asyncio.StreamWriter, response: Response) -> None:
    writer.write(_wire(response))
    await writer.drain()


def _wire(response: Response) -> bytes:
    raw = isinstance(response.body, bytes)
    body = response.body if raw else json.dumps(response.body).encode()
    headers = {
        "content-type": "application/json",
        **response.headers,
        "content-length": str(len(body)),
    }
    lines = [f"HTTP/1.1 {response.status} Status", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Running(NamedTuple):
    """A server process: the base URL for the SDK, and the URL of the server itself."""

    url: str
    root: str

    def ledger(self) -> list[Entry]:
        """Return the requests that the server has received so far."""
        with urllib.request.urlopen(f"{self.root}/ledger", timeout=60) as response:
            return [Entry(**entry) for entry in json.load(response)]


@contextlib.contextmanager
def running(module: str, *arguments: str) -> Iterator[Running]:
    """Run ``python -m tests.support.servers.MODULE ARGUMENTS`` within a ``with`` block."""
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-m", f"tests.support.servers.{module}", "--with-parent", *arguments]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            yield Running(**json.loads(process.stdout.readline()))
        finally:
            process.terminate()
