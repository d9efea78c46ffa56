# SPDX-License-Identifier: Apache-2.0
"""Connections that the receiver of a run holds (:mod:`kgbench.net.receiver`), for httpcore2.

Where there is no receiver, connections are made as usual.
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
from kgbench.net.receiving import EXCHANGE, RECEIVER, UNLOGGED
from kgbench.net.transport import TOGETHER

_ENDED: Final = b"the process that receives responses has ended\n"


class Relay(httpcore2.AnyIOBackend):
    """Makes connections through the receiver that :data:`~kgbench.net.arrivals.RECEIVER` names."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to a server."""
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
        self._asking = False
        self._torn = False  # a frame was sent in part

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._unsent:  # the end of a body in chunks is not empty
            await self.write(b"", timeout)
        self._asking = False
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.get_running_loop().sock_recv(self._link, max_bytes)
        except TimeoutError:
            raise httpcore2.ReadTimeout from None
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        # A head goes together with a small body: h11 gives them apart, then nothing at the end.
        self._unsent += buffer
        if buffer and len(self._unsent) < TOGETHER:
            return
        frame = FRAME.pack(DATA, len(self._unsent)) + self._unsent
        self._unsent = b""
        if not self._asking:
            exchange = EXCHANGE.get()
            frame = (UNLOGGED if exchange is None else exchange.frame()) + frame
        self._asking = True
        try:
            async with asyncio.timeout(timeout):
                await self._send(frame)
        except TimeoutError:
            raise httpcore2.WriteTimeout from None
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,  # noqa: ARG002 - the receiver has the same
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        await self.order(START_TLS, timeout, hostname=server_hostname)
        self._asking = False
        return self

    async def order(self, kind: int, timeout: float | None, **content: Any) -> None:  # noqa: ASYNC109
        """Have the receiver do something; raises what httpcore2 raises where it cannot."""
        data, said = json.dumps(content).encode(), b""
        try:
            async with asyncio.timeout(timeout):
                await self._send(FRAME.pack(kind, len(data)) + data)
                while not said.endswith(b"\n"):
                    byte = await asyncio.get_running_loop().sock_recv(self._link, 1)
                    said += byte or _ENDED
        except TimeoutError:
            await self.aclose()
            raise httpcore2.ConnectTimeout from None
        except ConnectionError:
            said = _ENDED
        except OSError as error:
            said = f"{error}\n".encode()
        except BaseException:
            await self.aclose()
            raise
        if len(said) > 1:
            await self.aclose()
            raise httpcore2.ConnectError(said[:-1].decode("utf-8", "replace"))

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
