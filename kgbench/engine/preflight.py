# SPDX-License-Identifier: Apache-2.0
"""One short call to each model before the first dialogue.

A wrong address, key or model name is reported here, before anything is written or paid for. Other
models are not stopped by it. The answer and its time are shown, and prompts that probably do not
fit into the context of a model on this machine. A second call finds out whether a server passes
tools on to its model: some ignore them without a word, and every dialogue would then be scored as
if the model did not use them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from kgbench.characters import visible
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import declarations
from kgbench.connectors.failures import scrub
from kgbench.engine import planning
from kgbench.engine.calls import (
    CHARACTERS_PER_TOKEN,
    Connector,
    RetryPolicy,
    describe_attempt,
)
from kgbench.engine.planning import Exercise
from kgbench.engine.progress import Wait
from kgbench.engine.run_state import RunState
from kgbench.engine.session import Settings
from kgbench.engine.stop_signal import StopSignal
from kgbench.errors import ProviderError, ProviderRefused, RateLimited
from kgbench.model import ModelSetup, Plan, Request

PROMPT = "This is a test of the connection. Answer with the word OK."

_SHOWN = 60  # characters of an answer
_WAY_ROUND = "--no-preflight leaves out the first call"


async def first_calls(
    plan: Plan,
    exercises: Mapping[str, Sequence[Exercise]],
    state: RunState,
    connectors: Mapping[str, Connector],
    *,
    settings: Settings,
    stop: StopSignal,
) -> dict[str, str]:
    """Make a first call to each model that has dialogues left to hold and is called directly.

    ``connectors`` are keyed by model IRI. A call that fails is retried as every other call of the
    plan is. A rate limit is not a failure, because it shows that the server accepts the key.
    Nothing is called if ``settings`` have no function ``preflight``, which gets a line for each
    call, each wait and each answer.

    Returns, by label, the reason why a model cannot be called: its address, its name, whether a key
    was sent, and the error. Raises :class:`~kgbench.errors.ProviderRefused` with these reasons if
    that holds for every model with dialogues left.
    """
    if settings.preflight is None:
        return {}
    say = settings.preflight
    unfinished = [setup for setup in plan.models if _is_unfinished(plan, exercises, state, setup)]
    request = Request((PROMPT,), next(of_task[0] for of_task in exercises.values()).case, "0")
    tasks: list[asyncio.Task[ProviderError | None]] = []
    servers = []
    for setup in unfinished:
        connector = connectors.get(setup.iri)
        caller: Caller | None = getattr(connector, "caller", None)
        if connector is not None and caller is not None and caller.url:
            servers.append((setup, about := _about(setup, caller)))
            say(f"first call: {about}")
            patience = RetryPolicy(plan.max_retries, settings.patience_scale)
            offered = replace(request, tools=planning.native_tools(plan, exercises, setup))
            tasks.append(asyncio.create_task(_call(connector, caller, offered, patience, say)))
            _say_what_is_too_long(setup, getattr(connector, "context", None), exercises, say)
    results = await _results(tasks, stop)
    failures = {
        setup.label: f"the first call failed: {about}: {error}{_advice(setup, error)}"
        for (setup, about), error in zip(servers, results, strict=True)
        if error is not None
    }
    if failures and len(failures) == len(unfinished):
        end = f"nothing was asked or written ({_WAY_ROUND})"
        raise ProviderRefused("; ".join([*failures.values(), end]))
    return {label: f"{reason} ({_WAY_ROUND})" for label, reason in failures.items()}


def _is_unfinished(
    plan: Plan, exercises: Mapping[str, Sequence[Exercise]], state: RunState, setup: ModelSetup
) -> bool:
    """Return whether ``setup`` has dialogues to hold in this session."""
    return any(
        stored is None or not (stored.complete or stored.iri in state.closed)
        for dialogue in planning.planned_dialogues(plan, exercises, setup)
        for stored in [state.states.get(dialogue.digest)]
    )


async def _call(
    connector: Connector,
    caller: Caller,
    request: Request,
    patience: RetryPolicy,
    say: Callable[[str], None],
) -> ProviderError | None:
    """Call a model until it replies; return the error after which there is no retry.

    Where the request has tools, it is sent once more without them. If the server counts as many
    tokens of the prompt for both, the model never sees the tools, which is an error.
    """
    for failures in count(1):
        began = time.monotonic()
        try:
            reply = await connector.ask(request)
            bare = await connector.ask(replace(request, tools=())) if request.tools else None
        except RateLimited:
            return None
        except ProviderError as error:
            wait = patience.wait(failures, 0, error)
            if wait is None:
                return error
            say(str(Wait(describe_attempt(error, caller), time.monotonic() + wait)))
            await asyncio.sleep(wait)
        else:
            seconds = time.monotonic() - began
            shown = visible(" ".join(reply.text.split())[:_SHOWN])
            say(f"first answer after {seconds:.1f} s: '{shown}'")
            if bare is not None and reply.usage.input == bare.usage.input is not None:
                return ProviderRefused(
                    caller.describe(
                        f"tools do not reach the model: the prompt has {bare.usage.input} tokens "
                        f"with and without them (the option toolProtocol=text describes them in "
                        f"the prompt)"
                    )
                )
            return None
    raise AssertionError  # count() has no end


def _say_what_is_too_long(
    setup: ModelSetup,
    context: int | None,
    exercises: Mapping[str, Sequence[Exercise]],
    say: Callable[[str], None],
) -> None:
    """Say which tasks have a prompt that probably does not fit into a context with its answer."""
    if context is None:
        return
    room = (context - int(setup.sampling.get("max_tokens") or 0)) * CHARACTERS_PER_TOKEN
    long = [label for label, of_task in exercises.items() if len(of_task[0].prompt) > room]
    if long:
        say(
            f"the prompts of {', '.join(long)} may be too long for {setup.label}, whose "
            f"conversations have {context:,} tokens (option context)"
        )


async def _results(
    tasks: Sequence[asyncio.Task[ProviderError | None]], stop: StopSignal
) -> list[ProviderError | None]:
    """Return the results of first calls; a request to stop the run abandons those under way."""

    async def ended() -> bool:
        await asyncio.wait(tasks)
        return True

    if tasks:
        await stop.or_else(ended())
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(
            result, ProviderError | asyncio.CancelledError
        ):
            raise result
    return [result if isinstance(result, ProviderError) else None for result in results]


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
