# SPDX-License-Identifier: Apache-2.0
"""Models that run on this machine, without a server to start and without a key.

``local:smollm2`` is a model that ``kgbench models install`` has installed, ``local:PATH.gguf`` any
file in GGUF format. A child process serves it, which the connector ``openai`` speaks to. If the
process ends, it is started once more, and the calls that it interrupted fail with the reason and
are made again; if it ends twice, no further call is made.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import IO, Any, Self

from kgbench.children import answering
from kgbench.children.child import command, environment
from kgbench.connectors import openai
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration, Option, read_options
from kgbench.connectors.local_server import ENGINE
from kgbench.errors import ModelSpecError, ProviderError, ProviderRefused, pip_install
from kgbench.model import Json, ModelSetup, Reply, Request

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
        self._command = command(module, json.dumps(dict(settings)))
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
            env=environment(*self._environment),
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
        ended = f"the engine ended ({answering.described(status)})"
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


_GRAPHICS = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
CONTEXT = 8192  # tokens, or fewer if the model was trained for fewer

DECLARED = Declaration(
    specifications=("local:NAME", "local:PATH.gguf"),
    options={
        "threads": Option(int, None, 1, meaning="threads of the engine; all processors by default"),
        "slots": Option(int, 2, 1, 64, meaning="answers that are written at the same time"),
        "context": Option(
            int,
            None,
            256,
            meaning="tokens of a conversation, which the engine rounds up to a multiple of 256; by "
            f"default what the model was trained for, at most {CONTEXT:,}",
        ),
    },
    extra="local",
    native_tools=lambda _: True,
)


_OWN = replace(openai.SERVICE, own=None, variable=None, keys=())


def open(setup: ModelSetup, timeout: float) -> Managed:  # noqa: A001 - the interface
    """Return a connector that starts the engine when it is entered."""
    options = read_options(setup.options, DECLARED.options, setup.spec)
    if setup.path is None:
        raise ModelSpecError(f"{setup.spec}: the model has no file")
    if find_spec(ENGINE) is None:
        raise ModelSpecError(
            f"{setup.spec}: the engine is not installed: {pip_install('kgbench[local]')}"
        )
    trained = int(setup.file.get("context", CONTEXT))
    threads = options["threads"] or len(os.sched_getaffinity(0))
    slots = options["slots"]
    context = options["context"] or min(CONTEXT, trained)
    served = replace(
        setup,
        spec=f"local:{setup.model_id}",  # messages are recorded, and leave out the folder
        options={k: v for k, v in setup.options.items() if k not in DECLARED.options},
    )
    settings = {
        "path": setup.path,
        "name": setup.model_id,
        "threads": threads,
        "slots": slots,
        "context": context,
    }
    engine = Engine("kgbench.connectors.local_server", settings, served.spec, environment=_GRAPHICS)
    return Managed(
        served,
        engine,
        timeout,
        slots=slots,
        details=f", {threads} threads",
    )


class Managed:
    """A model served by ``engine``, which is started in ``__aenter__``; see the module.

    ``setup`` is that of the model at the engine: its specification is the name of the model in
    messages, its sampling parameters are those of each request. ``slots`` is the number of calls
    that the engine answers at the same time. ``details`` follow the version of the engine in each
    reply. ``context`` is the number of tokens of a conversation, once the engine has told it.
    """

    def __init__(
        self,
        setup: ModelSetup,
        engine: Engine,
        timeout: float,
        *,
        slots: int,
        details: str = "",
    ) -> None:
        self.slots = slots
        self.context: int | None = None
        self.restarted: str | None = None  # why the engine was started again
        self._setup = setup
        self._engine = engine
        self._timeout = timeout
        self._details = details
        self._client: Any = None
        self._restarting = asyncio.Lock()
        self._ended = ""  # why there is no engine any more

    @property
    def caller(self) -> Caller:
        """The context of the calls, which names the server."""
        caller: Caller = self._client.caller
        return caller

    async def __aenter__(self) -> Self:
        """Load the model, which takes from a second to minutes.

        Raises :class:`~kgbench.errors.ModelSpecError` if it cannot be loaded.
        """
        await self._start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """End the engine."""
        if self._client is not None:
            await self._client.__aexit__(*exception)
        await self._engine.stop()

    async def read_limits(self) -> None:
        """Ask the engine for ``context``."""
        await self._client.read_limits()
        self.context = self._client.context

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        async with self._restarting:  # a call that begins during a restart waits for its end
            client = self._client
        if client is None:
            raise ProviderRefused(self._ended)
        try:
            reply: Reply = await client.ask(request)
        except ProviderError as error:
            if error.status is not None:
                raise
            reason = await self._engine.death()
            if reason is None and self._client is client:
                raise
            raise await self._after_death(client, reason) from None
        fingerprint = f"{self._engine.version}{self._details}"
        return replace(reply, model=self._setup.model_id, fingerprint=fingerprint)

    async def _start(self) -> None:
        await self._engine.start()
        served = replace(self._setup, base_url=self._engine.address)
        self._client = await openai.open(served, self._timeout, _OWN).__aenter__()

    async def _after_death(self, client: Any, reason: str | None) -> ProviderError:
        """Start the engine again after its first death; return the error of the call."""
        async with self._restarting:
            if self._client is None:
                return ProviderRefused(self._ended)
            if self._client is not client:  # another call has started it again
                return ProviderError(f"{self._setup.spec}: {self.restarted}; it was started again")
            message = f"{self._setup.spec}: {reason}"
            if self.restarted is not None:
                return ProviderRefused(f"{message}; it had already been started again once")
            self.restarted = reason
            self._client = None
            await client.__aexit__(None, None, None)
            await self._engine.stop()
            try:
                await self._start()
            except ModelSpecError as error:
                self._ended = f"{message}; starting it again failed: {error}"
                return ProviderRefused(self._ended)
        return ProviderError(f"{message}; it was started again")
