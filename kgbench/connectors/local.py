# SPDX-License-Identifier: Apache-2.0
"""Models that run on this machine, without a server to start and without a key.

``local:smollm2`` is a model that ``kgbench models install`` has installed, ``local:PATH.gguf`` any
file in GGUF format. A child process serves it (:mod:`kgbench.local.engine`), and the connector
``openai`` speaks to that. If the process ends, it is started once more, and the calls that it
interrupted fail with the reason and are made again; if it ends twice, no further call is made.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

from kgbench.connectors import openai
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import Option, read
from kgbench.errors import ModelSpecError, ProviderError, ProviderRefused
from kgbench.local.engine import Engine, Settings
from kgbench.model import ModelSetup, Reply, Request

ENGINE = "xllamacpp"
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
            meaning="tokens of a conversation; by default what the model was trained for, at "
            f"most {CONTEXT:,}",
        ),
    },
    extra="local",
    native_tools=lambda _: True,
)


def open(setup: ModelSetup, timeout: float) -> Local:  # noqa: A001 - the interface
    """Return a connector that starts the engine when it is entered."""
    options = read(setup.options, DECLARED.options, setup.spec)
    if setup.path is None:
        raise ModelSpecError(f"{setup.spec}: the model has no file")
    try:
        engine_version = version(ENGINE)
    except PackageNotFoundError:
        raise ModelSpecError(
            f"{setup.spec}: the engine is not installed: pip install 'kgbench[local]'"
        ) from None
    trained = int(setup.file.get("context", CONTEXT))
    settings = Settings(
        path=setup.path,
        name=setup.model_id,
        threads=options["threads"] or len(os.sched_getaffinity(0)),
        slots=options["slots"],
        context=options["context"] or min(CONTEXT, trained),
    )
    return Local(setup, settings, engine_version, timeout)


class Local:
    """A model whose engine is a child process, started in ``__aenter__``; see the module.

    ``slots`` is the number of calls that the engine answers at the same time, ``context`` the
    number of tokens of each conversation.
    """

    def __init__(
        self, setup: ModelSetup, settings: Settings, engine_version: str, timeout: float
    ) -> None:
        self.slots = settings.slots
        self.context = settings.context
        self._setup = setup
        self._timeout = timeout
        self._fingerprint = f"{ENGINE} {engine_version}, {settings.threads} threads"
        self._name = f"local:{setup.model_id}"  # messages are recorded, and leave out the folder
        self._engine = Engine(settings, self._name)
        self._client: Any = None
        self._restarting = asyncio.Lock()
        self._restarted = False
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

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        async with self._restarting:  # a call that begins during a restart waits for its end
            client = self._client
        if client is None:
            raise ProviderRefused(self._ended)
        try:
            reply: Reply = await client.ask(request)
        except ProviderError as error:
            if error.status is not None or (reason := await self._engine.death()) is None:
                raise
            raise await self._after_death(client, reason) from None
        return replace(reply, model=self._setup.model_id, fingerprint=self._fingerprint)

    async def _start(self) -> None:
        await self._engine.start()
        served = replace(
            self._setup,
            spec=self._name,
            base_url=self._engine.address,
            options={
                name: value
                for name, value in self._setup.options.items()
                if name not in DECLARED.options
            },
        )
        self._client = await openai.open(served, self._timeout, _OWN).__aenter__()

    async def _after_death(self, client: Any, reason: str) -> ProviderError:
        """Start the engine again after its first death; return the error of the call."""
        message = f"{self._name}: {reason}"
        async with self._restarting:
            if self._client is not client:  # another call has started it again
                return ProviderError(f"{message}; it was started again")
            if self._restarted:
                return ProviderRefused(f"{message}; it had already been started again once")
            self._restarted = True
            self._client = None
            await client.__aexit__(None, None, None)
            await self._engine.stop()
            try:
                await self._start()
            except ModelSpecError as error:
                self._ended = f"{message}; starting it again failed: {error}"
                return ProviderRefused(self._ended)
        return ProviderError(f"{message}; it was started again")


_OWN = replace(openai.SERVICE, own=None, variable=None, keys=())
