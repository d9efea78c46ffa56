# SPDX-License-Identifier: Apache-2.0
"""A transport of the MCP SDK to a child process, with messages of limited length.

The SDK's own transport buffers a line without any limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

LONGEST: Final = 4 << 20
"""The most bytes of a message."""
_PATIENCE: Final = 2.0  # seconds that a command has to exit by itself
_ERRORS: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError)


@contextlib.asynccontextmanager
async def start_command(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a command and yield the streams from and to it; end it and its process group on exit.

    Raises :class:`OSError` if the command cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(environment),
        start_new_session=True,
        limit=LONGEST,
    )
    incoming, read = anyio.create_memory_object_stream[Any](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, incoming)
            tasks.start_soon(_write, process, outgoing)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            for stream in (incoming, read, write, outgoing):
                await stream.aclose()


async def _read(process: asyncio.subprocess.Process, incoming: Any) -> None:
    """Forward each line as a message until the command ends or a line is too long."""
    assert process.stdout is not None
    async with incoming:
        # readline() raises ValueError for a line beyond the limit, which ends the stream.
        with contextlib.suppress(*_ERRORS, ValueError):
            while line := await process.stdout.readline():
                try:
                    message: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line))
                except ValueError as error:
                    message = error
                await incoming.send(message)


async def _write(process: asyncio.subprocess.Process, outgoing: Any) -> None:
    assert process.stdin is not None
    async with outgoing:
        with contextlib.suppress(OSError, *_ERRORS):
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command and its process group: close its input, then kill the group."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(_PATIENCE):
            await _drain(process)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # A process outside the group may hold the pipe open, so the wait has a timeout.
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(_PATIENCE):
            await _drain(process)
    # The event loop may end before it has seen the end of the pipe, so close its transport here.
    # There is no public way to do so; the SDK does the same.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    await asyncio.sleep(0)


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Drain the output and wait for the exit, which asyncio reports only after the last output."""
    assert process.stdout is not None
    while await process.stdout.read(LONGEST):
        pass
    await process.wait()
