# SPDX-License-Identifier: Apache-2.0
"""A transport of the MCP SDK to a command that is started here; its messages have a limited length.

The SDK's own transport keeps whatever a server writes until a line ends.
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
"""The most bytes of one message."""
_PATIENCE: Final = 2.0  # seconds in which a command may end by itself
_ERRORS: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError)


@contextlib.asynccontextmanager
async def started(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams to and from a command, which ends with the context, and all that it started.

    Raises :class:`OSError` if it cannot be started.
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
    """Pass on each line as a message, until the command ends or a line is too long."""
    assert process.stdout is not None
    async with incoming:
        with contextlib.suppress(*_ERRORS, ValueError):  # a line that has no end is an end
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
            async for sent in outgoing:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command and its group: by the end of its input, or by force."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(_PATIENCE):
            await _through(process)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # Somebody outside of the group may hold the pipe open, so that it is not waited for for ever.
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(_PATIENCE):
            await _through(process)
    # The event loop may end before it has seen the end of the pipe: its transport is closed here.
    # Nothing public closes it; the SDK does the same.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    await asyncio.sleep(0)


async def _through(process: asyncio.subprocess.Process) -> None:
    """Read what is left, without which asyncio does not see the end, and wait for that."""
    assert process.stdout is not None
    while await process.stdout.read(LONGEST):
        pass
    await process.wait()
