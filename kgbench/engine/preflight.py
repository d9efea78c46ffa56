# SPDX-License-Identifier: Apache-2.0
"""One short call to each model before the first dialogue.

A wrong address, key or model name is reported here, before anything is written or paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import declarations
from kgbench.connectors.failures import scrub
from kgbench.engine import planning
from kgbench.engine.calls import Connector
from kgbench.engine.planning import Exercise
from kgbench.errors import ProviderError, ProviderRefused, RateLimited
from kgbench.model import ModelSetup, Plan, Request

PROMPT = "This is a test of the connection. Answer with the word OK."

#: Called with a line for each model, which names its server.
Say = Callable[[str], None]


async def first_calls(
    plan: Plan,
    exercises: Mapping[str, Sequence[Exercise]],
    complete: Collection[str],
    connectors: Mapping[str, Connector],
    say: Say,
) -> None:
    """Make a first call to each model that has dialogues left to hold; see :func:`preflight`.

    ``complete`` are the digests of the complete dialogues; ``connectors`` are keyed by model IRI.
    """
    to_ask = [
        (setup, connectors[setup.iri])
        for setup in plan.models
        if setup.iri in connectors
        and any(
            dialogue.digest not in complete
            for dialogue in planning.planned_dialogues(plan, exercises, setup)
        )
    ]
    await preflight(to_ask, next(of_task[0] for of_task in exercises.values()), say)


async def preflight(
    models: Sequence[tuple[ModelSetup, Connector]], exercise: Exercise, say: Say
) -> None:
    """Call each of ``models`` that has a server once, after announcing it with ``say``.

    A rate limit is not a failure, because it shows that the server accepts the key. Raises
    :class:`~kgbench.errors.ProviderRefused` with the address, the model, whether a key was sent
    and the reason of each failed call.
    """
    servers = []
    for setup, connector in models:
        caller: Caller | None = getattr(connector, "caller", None)
        if caller is not None and caller.url:
            servers.append((setup, _about(setup, caller), connector))
    for _, description, _ in servers:
        say(f"first call: {description}")
    request = Request(messages=(PROMPT,), case=exercise.case, seed="0")
    calls = (connector.ask(request) for *_, connector in servers)
    results = await asyncio.gather(*calls, return_exceptions=True)
    failures = []
    for (setup, description, _), result in zip(servers, results, strict=True):
        if isinstance(result, BaseException) and not isinstance(result, ProviderError):
            raise result
        if isinstance(result, ProviderError) and not isinstance(result, RateLimited):
            failures.append(
                f"the first call failed: {description}: {result}{_advice(setup, result)}"
            )
    if failures:
        raise ProviderRefused("; ".join([*failures, "nothing was asked or written"]))


def _advice(setup: ModelSetup, error: ProviderError) -> str:
    """Return what to check after a failed call, as far as the HTTP status tells."""
    if error.status in (401, 403):
        declared = declarations().get(setup.connector)
        service = declared.service if declared is not None else None
        if setup.options.get("key_env") or service is None:
            variables = str(setup.options.get("key_env") or "")
        elif names := service.withheld(setup, setup.base_url or ""):
            allowed = " or ".join(f"--allow-secret {name}" for name in names)
            return f"; if you trust this server with your key, repeat with {allowed}"
        else:
            variables = " or ".join(service.keys)
        return f"; look at the key in {variables}" if variables else ""
    if error.status in (404, 405):
        return "; look at the name of the model and the path of the address (option api_version)"
    return ""


def _about(setup: ModelSetup, caller: Caller) -> str:
    key = "with a key" if caller.secrets else "without a key"
    return scrub(f"{caller.url}, model '{setup.model_id}', {key}", caller.secrets)
