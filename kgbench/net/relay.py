# SPDX-License-Identifier: Apache-2.0
"""The network backend of httpcore2 for connections through the receiver process of a run.

See :mod:`kgbench.net.receiver`. Without a receiver, connections are made as usual.
"""

from __future__ import annotations

import asyncio
import json
import select
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import httpcore2

from kgbench.net.links import CLOSE, CONNECT, DATA, FRAME, START_TLS
from kgbench.net.receiver_process import EXCHANGE, RECEIVER, UNLOGGED
from kgbench.net.transport import SEND_SIZE

_ENDED: Final = b"the process that receives responses has ended\n"


class Relay(httpcore2.AnyIOBackend):
    """A network backend that connects through :data:`~kgbench.net.receiver_process.RECEIVER`."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a server, through the receiver if there is one."""
        receiver = RECEIVER.get()
        if receiver is None:
            return await super().connect_tcp(host, port, timeout, local_address, socket_options)
        try:
            stream = _Stream(receiver.link())
        except OSError as error:
            reason = f"no process that receives responses can be started: {error.strerror}"
            raise httpcore2.ConnectError(reason) from error
        await stream.order(CONNECT, timeout, host=host, port=port, local=local_address)
        return stream


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._unsent = b""
        self._in_request = False
        self._torn = False  # whether a frame may have been sent partly

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._unsent:  # a chunked body ends with "0", not with an empty buffer
            await self.write(b"", timeout)
        self._in_request = False
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.get_running_loop().sock_recv(self._link, max_bytes)
        except TimeoutError:
            raise httpcore2.ReadTimeout from None
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        # Sends a head together with a small body: h11 yields both separately, then b"" at the end.
        self._unsent += buffer
        if buffer and len(self._unsent) < SEND_SIZE:
            return
        frame = FRAME.pack(DATA, len(self._unsent)) + self._unsent
        self._unsent = b""
        if not self._in_request:
            exchange = EXCHANGE.get()
            frame = (UNLOGGED if exchange is None else exchange.frame()) + frame
        self._in_request = True
        try:
            async with asyncio.timeout(timeout):
                await self._send(frame)
        except TimeoutError:
            raise httpcore2.WriteTimeout from None
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,  # noqa: ARG002 - the receiver has its own
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        await self.order(START_TLS, timeout, hostname=server_hostname)
        self._in_request = False
        return self

    async def order(self, kind: int, timeout: float | None, **content: Any) -> None:  # noqa: ASYNC109
        """Send a command to the receiver; raises the errors of httpcore2 if it fails."""
        data, answer = json.dumps(content).encode(), b""
        try:
            async with asyncio.timeout(timeout):
                await self._send(FRAME.pack(kind, len(data)) + data)
                while not answer.endswith(b"\n"):
                    byte = await asyncio.get_running_loop().sock_recv(self._link, 1)
                    answer += byte or _ENDED
        except TimeoutError:
            await self.aclose()
            raise httpcore2.ConnectTimeout from None
        except ConnectionError:
            answer = _ENDED
        except OSError as error:
            answer = f"{error}\n".encode()
        except BaseException:
            await self.aclose()
            raise
        if len(answer) > 1:
            await self.aclose()
            raise httpcore2.ConnectError(answer[:-1].decode("utf-8", "replace"))

    async def _send(self, frame: bytes) -> None:
        self._torn = True
        await asyncio.get_running_loop().sock_sendall(self._link, frame)
        self._torn = False

    async def aclose(self) -> None:
        if self._link.fileno() >= 0 and not self._torn:
            with suppress(OSError):
                self._link.send(FRAME.pack(CLOSE, 0))
        self._link.close()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            if self._link.fileno() < 0:
                return True
            poll = select.poll()
            poll.register(self._link, select.POLLIN)
            return bool(poll.poll(0))
        return None
