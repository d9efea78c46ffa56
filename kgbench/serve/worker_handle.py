# SPDX-License-Identifier: Apache-2.0
"""Handle of a worker process in its parent: start, send jobs, read frames, kill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from kgbench.children.commands import command, environment
from kgbench.children.endings import Limit, limit_hit
from kgbench.errors import StoreError

_START_SECONDS = 60.0
_NICE = 1  # niceness of workers; the server itself, which answers look-ups, has priority
_LOWEST = 19  # niceness of heavy queries
_TICKS = os.sysconf("SC_CLK_TCK")


class Frame(NamedTuple):
    """A message of a worker: a tag of :mod:`kgbench.serve.worker` and a payload."""

    tag: bytes
    payload: bytes


class WorkerEnded(Exception):
    """The worker process ended; ``memory`` if it reached its memory limit."""

    def __init__(self, memory: bool) -> None:
        self.memory = memory
        super().__init__("the memory limit was reached" if memory else "the query worker ended")


class Worker:
    """A process that runs one job at a time."""

    def __init__(self, process: asyncio.subprocess.Process, isolated: bool) -> None:
        self._process = process
        self._pending: asyncio.Task[Frame] | None = None
        self.isolated = isolated

    @classmethod
    async def start(cls, module: str, memory_bytes: int) -> Worker:
        """Start a worker that runs ``module``, and wait until it is ready."""
        process = await asyncio.create_subprocess_exec(
            *command(module, str(os.getpid()), str(memory_bytes)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,  # the parent handles Ctrl-C
        )
        worker = cls(process, isolated=False)
        worker.step_back(_NICE)
        try:
            ready = await worker.frame(_START_SECONDS)
        except WorkerEnded as error:
            await worker.kill()
            raise StoreError(f"no query worker could be started: {error}") from error
        except BaseException:
            await worker.kill()
            raise
        if ready is None:
            await worker.kill()
            raise StoreError(f"a query worker is not ready after {_START_SECONDS:.0f} seconds")
        worker.isolated = bool(json.loads(ready.payload)["isolated"])
        return worker

    def send(self, job: dict[str, Any]) -> None:
        """Send a job; the answer comes as frames."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")

    async def frame(self, seconds: float) -> Frame | None:
        """Return the next frame, or ``None`` after ``seconds``; raises :class:`WorkerEnded`.

        A partly received frame is completed by the next call.
        """
        if self._pending is None:
            self._pending = asyncio.create_task(self._read())
        await asyncio.wait({self._pending}, timeout=max(seconds, 0.0))
        if not self._pending.done():
            return None
        task, self._pending = self._pending, None
        return task.result()

    async def _read(self) -> Frame:
        assert self._process.stdout is not None
        try:
            head = await self._process.stdout.readexactly(5)
            payload = await self._process.stdout.readexactly(int.from_bytes(head[1:], "big"))
        except asyncio.IncompleteReadError:
            status = await self._process.wait()
            raise WorkerEnded(memory=limit_hit(status, None) is Limit.MEMORY) from None
        return Frame(head[:1], payload)

    def step_back(self, niceness: int = _LOWEST) -> None:
        """Lower the priority of the process."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)

    def processor_seconds(self) -> float | None:
        """Return the CPU time of the process, to 10 ms; ``None`` if unknown."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_bytes()
        except OSError:  # not Linux, or gone
            return None
        user, system = stat.rpartition(b")")[2].split()[11:13]  # utime and stime of proc(5)
        return (int(user) + int(system)) / _TICKS

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.returncode is None

    async def kill(self) -> None:
        """Kill the process; does nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        if self._pending is not None:
            self._pending.cancel()
            await asyncio.wait({self._pending})
            self._pending = None
        # Close stdout before waiting: with unread bytes in the pipe, asyncio never sees the end.
        transport: Any = self._process._transport  # type: ignore[attr-defined] # noqa: SLF001
        transport.get_pipe_transport(1).close()
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        transport.close()  # not earlier, or waiters would never learn of the end
