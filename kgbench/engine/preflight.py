# SPDX-License-Identifier: Apache-2.0
"""One short call to each model before the first dialogue.

A wrong address, key or model name shows here, in words, before anything is written or paid for.
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

#: Is told, line by line, which server is asked for which model.
Say = Callable[[str], None]


async def first_calls(
    plan: Plan,
    asked: Mapping[str, Sequence[Exercise]],
    complete: Collection[str],
    connectors: Mapping[str, Connector],
    say: Say,
) -> None:
    """A first call to each model that has anything left to do; see :func:`preflight`.

    ``complete`` are the digests of the dialogues that are done, ``connectors`` go by model IRI.
    """
    to_ask = [
        (setup, connectors[setup.iri])
        for setup in plan.models
        if setup.iri in connectors
        and any(one.digest not in complete for one in planning.planned(plan, asked, setup))
    ]
    await preflight(to_ask, next(exercises[0] for exercises in asked.values()), say)


async def preflight(
    models: Sequence[tuple[ModelSetup, Connector]], exercise: Exercise, say: Say
) -> None:
    """Ask each of ``models`` that has a server once, and ``say`` where and with what.

    A rate limit passes, because the server knows the key. Raises
    :class:`~kgbench.errors.ProviderRefused` with the address, the model, whether a key was sent
    and the reason of each call that failed.
    """
    asked = []
    for setup, connector in models:
        caller: Caller | None = getattr(connector, "caller", None)
        if caller is not None and caller.url:
            asked.append((setup, _about(setup, caller), connector))
    for _, about, _ in asked:
        say(f"first call: {about}")
    request = Request(messages=(PROMPT,), case=exercise.case, seed="0")
    calls = (connector.ask(request) for *_, connector in asked)
    results = await asyncio.gather(*calls, return_exceptions=True)
    wrong = []
    for (setup, about, _), result in zip(asked, results, strict=True):
        if isinstance(result, BaseException) and not isinstance(result, ProviderError):
            raise result
        if isinstance(result, ProviderError) and not isinstance(result, RateLimited):
            wrong.append(f"the first call failed: {about}: {result}{_advice(setup, result)}")
    if wrong:
        raise ProviderRefused("; ".join([*wrong, "nothing was asked or written"]))


def _advice(setup: ModelSetup, error: ProviderError) -> str:
    """What to look at, where the status of the response says that."""
    if error.status in (401, 403):
        declared = declarations().get(setup.connector)
        service = declared.service if declared is not None else None
        named = setup.options.get("key_env") or " or ".join(service.keys if service else ())
        return f"; look at the key in {named}" if named else ""
    if error.status in (404, 405):
        return "; look at the name of the model and the path of the address (option api_version)"
    return ""


def _about(setup: ModelSetup, caller: Caller) -> str:
    key = "with a key" if caller.secrets else "without a key"
    return scrub(f"{caller.url}, model '{setup.model_id}', {key}", caller.secrets)
