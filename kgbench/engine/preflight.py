# SPDX-License-Identifier: Apache-2.0
"""One short call to each model before the first dialogue.

A wrong address, key or model name is reported here, before anything is written or paid for. Other
models are not stopped by it. The answer, its time and speed are shown, and for a server on this
machine or in a private network how long the plan will take, and which prompts probably do not fit
into its context. A second call finds out whether a server passes tools on to its model: some ignore
them without a word, and every dialogue would then be scored as if the model did not use them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count

from kgbench.characters import visible
from kgbench.config.specs import LOCAL
from kgbench.connectors import Connector
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import ANSWER_LIMITS, declarations
from kgbench.engine import planning
from kgbench.engine.calls import RetryPolicy, describe_attempt
from kgbench.engine.planning import Exercise
from kgbench.engine.run import Run
from kgbench.engine.session import StopSignal, Wait
from kgbench.engine.spending import CHARACTERS_PER_TOKEN, Entry, price_of
from kgbench.errors import ProviderError, ProviderRefused, RateLimited
from kgbench.model import ModelSetup, Plan, Reply, Request, Usage
from kgbench.record.accounts import Price
from kgbench.secrets import scrub
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tools.module import budget_of

RULE = (
    "Estimated at four characters per token, without reasoning: at least one round with the "
    "reference as answer, at most all rounds."
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens and cost (USD); ``cost`` is ``None`` if the price is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The estimate for one model; ``dialogues`` of the ``planned`` ones are still to be held."""

    model: ModelSetup
    planned: int
    dialogues: int
    least: Estimate
    most: Estimate


def model_estimates(
    plan: Plan,
    complete: Collection[str],
    prices: Sequence[Entry],
    exercises: Mapping[str, Sequence[Exercise]],
    limit: int | None = None,
) -> Iterator[ModelEstimate]:
    """Yield the estimate for each model of ``plan``.

    ``complete`` are the digests of the complete dialogues, ``exercises`` the exercises of each
    task label; at most ``limit`` dialogues are begun with each model.
    """
    sizes = {iri: _size(e) for es in exercises.values() for e in es for iri in (e.case.iri,)}
    for model in plan.models:
        dialogues = list(planning.planned_dialogues(plan, exercises, model))
        unfinished = [each for each in dialogues if each.digest not in complete][:limit]
        price = price_of(model, prices)
        if plan.batch and price is not None:
            price = price.in_batches()
        yield _of_model(
            model, len(dialogues), [sizes[each.exercise.case.iri] for each in unfinished], price
        )


def whole_plan(
    plan: Plan, exercises: Mapping[str, Sequence[Exercise]], model: ModelSetup
) -> ModelEstimate:
    """Return the estimate for all dialogues of one model, without prices.

    Every case of a task counts like its first one, so that no other case is generated.
    """
    sizes = []
    for of_task in exercises.values():
        dialogues = plan.iterations * (len(of_task) if plan.iterations_per_case else 1)
        sizes += [_size(of_task[0])] * dialogues
    return _of_model(model, len(sizes), sizes, None)


def _size(exercise: Exercise) -> tuple[int, int, int]:
    """Return the tokens of prompt and reference answer, and the maximal number of rounds."""
    name = catalogue.successor(exercise.task.task_class)
    answer = catalogue.module(name).reference(exercise.case)
    rounds = catalogue.task_class(name).max_rounds
    if tool_prompts.tools_of(exercise.case):
        rounds = budget_of(exercise.case.parameters).calls + 1
    return _tokens(exercise.prompt), _tokens(answer), rounds


def most(exercise: Exercise) -> tuple[int, int]:
    """Return the upper estimates of the tokens that a dialogue reads and writes."""
    return _most(*_size(exercise))


def _most(prompt: int, answer: int, rounds: int) -> tuple[int, int]:
    return sum((k + 1) * prompt + k * answer for k in range(rounds)), rounds * answer


def _of_model(
    model: ModelSetup,
    planned: int,
    sizes: Sequence[tuple[int, int, int]],
    price: Price | None,
) -> ModelEstimate:
    read = sum(prompt for prompt, _, _ in sizes)
    written = sum(answer for _, answer, _ in sizes)
    calls = sum(rounds for _, _, rounds in sizes)
    bounds = [_most(*size) for size in sizes]
    read_most, written_most = sum(read for read, _ in bounds), sum(written for _, written in bounds)
    return ModelEstimate(
        model,
        planned,
        len(sizes),
        Estimate(len(sizes), read, written, _cost(price, read, written)),
        Estimate(calls, read_most, written_most, _cost(price, read_most, written_most)),
    )


def _cost(price: Price | None, read: int, written: int) -> Decimal | None:
    return None if price is None else price.cost(Usage(read, written))


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


PROMPT = "This is a test of the connection. Count from 1 to 20."  # enough to measure the speed

_AT_MOST = 64  # tokens of the answer
_CHARACTERS_OF_A_TOKEN = 2  # at least, even in graphs with numbers, so that no prompt is missed
_SHOWN = 60  # characters of an answer
_WAY_ROUND = "--no-preflight leaves out the first call"


async def first_calls(run: Run, connectors: Mapping[str, Connector]) -> dict[str, str]:
    """Make a first call to each model that has dialogues left to hold and is called directly.

    ``connectors`` are keyed by model IRI. A call that fails is retried as every other call of the
    plan is. A rate limit is not a failure, because it shows that the server accepts the key.
    Nothing is called if the settings have no function ``preflight``, which gets a line for each
    call, each wait and each answer.

    Returns, by label, the reason why a model cannot be called: its address, its name, whether a key
    was sent, and the error. Raises :class:`~kgbench.errors.ProviderRefused` with these reasons if
    that holds for every model with dialogues left.
    """
    say, plan, exercises = run.settings.preflight, run.plan, run.exercises
    if say is None:
        return {}
    unfinished = [setup for setup in plan.models if _is_unfinished(run, setup)]
    case = next(of_task[0] for of_task in exercises.values()).case
    request = Request((PROMPT,), case, "0", at_most=_AT_MOST)
    tasks: list[asyncio.Task[ProviderError | None]] = []
    servers = []
    for setup in unfinished:
        connector = connectors.get(setup.iri)
        caller: Caller | None = getattr(connector, "caller", None)
        if connector is not None and caller is not None and caller.url and not setup.is_system:
            servers.append((setup, about := _about(setup, caller)))
            say(f"first call: {about}")
            patience = RetryPolicy(plan.max_retries, run.settings.patience_scale)
            offered = replace(request, tools=planning.native_tools(plan, exercises, setup))
            first = _First(plan, exercises, setup, connector, caller, say)
            tasks.append(asyncio.create_task(first.call(offered, patience)))
    results = await _results(tasks, run.stop)
    failures = {
        setup.label: f"the first call failed: {about}: {error}{_advice(setup, error)}"
        for (setup, about), error in zip(servers, results, strict=True)
        if error is not None
    }
    if failures and len(failures) == len(unfinished):
        end = f"nothing was asked or written ({_WAY_ROUND})"
        raise ProviderRefused("; ".join([*failures.values(), end]))
    return {label: f"{reason} ({_WAY_ROUND})" for label, reason in failures.items()}


def _is_unfinished(run: Run, setup: ModelSetup) -> bool:
    """Return whether ``setup`` has dialogues to hold in this session."""
    return any(
        stored is None or not (stored.complete or stored.iri in run.state.closed)
        for dialogue in planning.planned_dialogues(run.plan, run.exercises, setup)
        for stored in [run.state.states.get(dialogue.digest)]
    )


@dataclass(frozen=True, slots=True)
class _First:
    """The first call to one model, whose results ``say`` gets."""

    plan: Plan
    exercises: Mapping[str, Sequence[Exercise]]
    setup: ModelSetup
    connector: Connector
    caller: Caller
    say: Callable[[str], None]

    async def call(self, request: Request, patience: RetryPolicy) -> ProviderError | None:
        """Call the model until it replies; return the error after which there is no retry.

        Where the request has tools, it is sent once more without them. If the server counts as
        many tokens of the prompt for both, the model never sees the tools, which is an error.
        """
        caller, ask = self.caller, self.connector.ask
        if caller.near and hasattr(self.connector, "read_limits"):
            await self.connector.read_limits()
        self._say_what_is_too_long(getattr(self.connector, "context", None))
        for failures in count(1):
            began = time.monotonic()
            try:
                reply = await ask(request)
                seconds = time.monotonic() - began
                bare = await ask(replace(request, tools=())) if request.tools else None
            except RateLimited:
                return None
            except ProviderError as error:
                wait = patience.wait(failures, 0, error)
                if wait is None:
                    return error
                self.say(str(Wait(describe_attempt(error, caller), time.monotonic() + wait)))
                await asyncio.sleep(wait)
            else:
                self._say_how_fast(reply, seconds)
                if bare is not None and reply.usage.input == bare.usage.input is not None:
                    return ProviderRefused(
                        caller.describe(
                            f"tools do not reach the model: the prompt has {bare.usage.input} "
                            f"tokens with and without them (the option toolProtocol=text "
                            f"describes them in the prompt)"
                        )
                    )
                return None
        raise AssertionError  # count() has no end

    def _say_how_fast(self, reply: Reply, seconds: float) -> None:
        """Say the first answer and the speed, and of a near server how long the plan will take."""
        shown = visible(" ".join(reply.text.split())[:_SHOWN])
        reading = reply.reading
        writing = reply.writing or (reply.usage.output or 0) / max(seconds, 1e-3)
        speeds = [f"{reading:,.0f} tokens/s read"] if reading else []
        speeds += [f"{writing:,.3g} tokens/s written"] if writing else []
        about = "".join(f", {speed}" for speed in speeds)
        self.say(f"first answer after {seconds:.1f} s{about}: '{shown}'")
        if not writing or not self.caller.near:
            return
        estimate = whole_plan(self.plan, self.exercises, self.setup)
        least, most = estimate.least, estimate.most
        limit = _answer_limit(self.setup)
        read = [least.input_tokens, most.input_tokens]
        written = [least.output_tokens, most.calls * limit if limit else most.output_tokens]
        short, long = (
            (tokens / reading if reading else 0) + answered / writing
            for tokens, answered in zip(read, written, strict=True)
        )
        longest = f"every answer has {limit:,} tokens" if limit else "all rounds are needed"
        self.say(
            f"{self.setup.label}: the plan takes about {_minutes(short)} if its answers are as "
            f"long as the reference answers, and {_minutes(long)} if {longest}, one call at a time"
        )

    def _say_what_is_too_long(self, context: int | None) -> None:
        """Say which prompts, with their answers, probably do not fit into the context."""
        if context is None:
            return
        room = (context - _answer_limit(self.setup)) * _CHARACTERS_OF_A_TOKEN
        long = [label for label, cases in self.exercises.items() if len(cases[0].prompt) > room]
        if long:
            option = " (option context)" if self.setup.connector == LOCAL else ""
            self.say(
                f"the prompts of {', '.join(long)} may be too long for {self.setup.label}, whose "
                f"conversations have {context:,} tokens{option}"
            )


async def _results(
    tasks: Sequence[asyncio.Task[ProviderError | None]], stop: StopSignal
) -> list[ProviderError | None]:
    """Return the results of first calls; a request to stop the run abandons those under way."""
    if tasks:
        await stop.or_else(asyncio.wait(tasks))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [None if task.cancelled() else task.result() for task in tasks]


def _answer_limit(setup: ModelSetup) -> int:
    """Return the limit of tokens of an answer, or 0 if there is none."""
    limits = (setup.sampling.get(name) for name in ANSWER_LIMITS)
    return next((limit for limit in limits if isinstance(limit, int)), 0)


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:,.0f} h"  # noqa: PLR2004 - two hours


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
