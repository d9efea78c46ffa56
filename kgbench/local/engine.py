# SPDX-License-Identifier: Apache-2.0
"""A process that serves one local model, started and ended by kgbench."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import IO, Any

from kgbench.children import commands, endings
from kgbench.errors import ModelSpecError
from kgbench.model import Json

_ENDING = 5.0  # seconds
_QUOTED = 300  # characters of the last error of the engine, or of its last line
_READ = 1 << 14  # bytes at the end of its output


class Engine:
    """The process that runs ``module`` with ``settings``; ``spec`` names the model in messages.

    The module takes the settings as a JSON object, prints a JSON object with the ``address`` of its
    server and the ``version`` of its engine when the model is loaded, or with an ``error``, and
    ends when its standard input is closed. ``environment`` names the variables that it gets beside
    those of every child. The model must be loaded within ``loading`` seconds.

    The process has a session of its own, so that Ctrl-C in a terminal does not reach it.
    """

    def __init__(
        self,
        module: str,
        settings: Mapping[str, Json],
        spec: str,
        *,
        environment: Iterable[str],
        loading: float = 600.0,  # large files on slow disks take minutes
    ) -> None:
        self.address = self.version = ""
        self._command = commands.command(module, json.dumps(dict(settings)))
        self._environment = tuple(environment)
        self._spec = spec
        self._loading = loading
        self._process: asyncio.subprocess.Process | None = None
        self._errors: IO[bytes] | None = None

    async def start(self) -> None:
        """Start the process and wait until the model is loaded.

        Raises :class:`~kgbench.errors.ModelSpecError` if it cannot be loaded.
        """
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - until it is stopped
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            env=commands.environment(*self._environment),
            start_new_session=True,
        )
        assert self._process.stdout is not None, "it is a pipe"
        try:
            async with asyncio.timeout(self._loading):
                line = await self._process.stdout.readline()
        except TimeoutError:
            await self.stop()
            raise ModelSpecError(
                f"{self._spec}: the model was not loaded within {self._loading:g} s"
            ) from None
        except asyncio.CancelledError:
            await self.stop()
            raise
        said: dict[str, Any] = {}
        with suppress(ValueError):
            said = json.loads(line)
        if "address" not in said:
            reason = said.get("error") or await self.death() or "it closed its output"
            await self.stop()
            raise ModelSpecError(f"{self._spec} cannot be loaded: {reason}")
        self.address, self.version = said["address"], said["version"]

    async def death(self) -> str | None:
        """Return how the process ended, with its last words; ``None`` while it runs.

        A process whose connection has just been lost gets a moment to end.
        """
        process = self._process  # which another call may stop meanwhile
        if process is None:
            return "it was not started"
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 1.0)
        status = process.returncode
        if status is None:
            return None
        ended = f"the engine ended ({endings.described(status)})"
        words = "" if status == -signal.SIGKILL else self._last_words()
        return f"{ended}: {words}" if words else ended

    async def stop(self) -> None:
        """End the process and everything that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _ENDING)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if self._errors is not None:
            self._errors.close()

    def _last_words(self) -> str:
        if self._errors is None or self._errors.closed:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _READ))
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        errors = [line for line in said if "error" in line.lower()]
        return (errors or said or [""])[-1][:_QUOTED]
