# SPDX-License-Identifier: Apache-2.0
"""Baseline models without a provider, which know the case and show what a score means.

``baseline:oracle`` gives the best answer, ``baseline:noisy?rate=R&seed=S`` damages it with
probability R, ``baseline:silent`` gives an empty answer. ``baseline:guess?seed=S`` gives a random
answer of the right form, which shows the level of chance; where a task asks for an open answer (a
graph, a query, a mapping), which no guess meets, its answer is empty. The same plan gives the same
answers on every machine. Their replies have no token counts.

If a case offers tools, the oracle uses them. The agents ``baseline:schema-only``,
``baseline:random-walker?seed=S`` and ``baseline:searcher`` need tools and give empty answers
without them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from random import Random
from typing import Self, cast

from kgbench.connectors.declared import Declaration, Option
from kgbench.errors import ModelSpecError
from kgbench.model import Case, ModelSetup, Reply, Request
from kgbench.tools.module import ToolModule

_AGENTS = ("schema-only", "random-walker", "searcher")
_OPTIONS_OF: dict[str, tuple[str, ...]] = {
    "oracle": ("delay",),
    "noisy": ("delay", "rate", "seed"),
    "silent": ("delay",),
    "guess": ("delay", "seed"),
    "schema-only": ("delay",),
    "random-walker": ("delay", "seed"),
    "searcher": ("delay",),
}
DECLARED = Declaration(
    specifications=tuple(f"baseline:{name}" for name in _OPTIONS_OF),
    options={
        "delay": Option(float, 0.0, 0, meaning="seconds before each answer"),
        "rate": Option(float, 0.3, 0, 1, meaning="of `noisy`: how many of the answers are damaged"),
        "seed": Option(
            int,
            0,
            meaning="of `noisy`, `guess` and `random-walker`: another one gives other answers",
        ),
    },
    sampling=(),
    models=_OPTIONS_OF,
)


def open(setup: ModelSetup, timeout: float) -> Baseline:  # noqa: A001, ARG001 - the interface
    """Return the baseline model that ``setup`` names; option ``delay`` is in seconds."""
    if setup.sampling:
        raise ModelSpecError(
            f"{setup.spec} takes no sampling parameters, but has {', '.join(setup.sampling)}"
        )
    options = DECLARED.options_of(setup)
    return Baseline(
        setup.model_id, options.get("rate", 0.0), options.get("seed", 0), options["delay"]
    )


class Baseline:
    """A model that answers from the reference of the case; see the module."""

    def __init__(self, name: str, rate: float, seed: int, delay: float) -> None:
        self._name = name
        self._rate = rate
        self._seed = seed
        self._delay = delay

    async def ask(self, request: Request) -> Reply:
        """Return the reference answer, damaged or withheld according to the model's name."""
        if self._delay > 0:
            await asyncio.sleep(self._delay)
        return Reply(self._answer(request), model=self._name, finish_reason="stop")

    def _answer(self, request: Request) -> str:
        if self._name == "silent":
            return ""
        chance = Random(hashlib.sha256(f"{self._seed}/{request.seed}".encode()).digest())  # noqa: S311
        if self._name == "guess":
            return _guess(request.case, chance)
        best = self._best(request, chance)
        if self._name in _AGENTS:
            return best
        return damaged(best, chance) if chance.random() < self._rate else best

    def _best(self, request: Request, chance: Random) -> str:
        from kgbench.tasks import catalogue, tool_prompts

        if tool_prompts.tools_of(request.case):
            agent = self._name if self._name in _AGENTS else "oracle"
            module = cast("ToolModule", catalogue.module(request.case.task_class))
            return module.say(request.case, agent, request.messages, chance)
        return "" if self._name in _AGENTS else _reference(request.case)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Do nothing: there are no resources to release."""


def damaged(text: str, chance: Random) -> str:
    """Return ``text`` with one random fault, so that it differs (unless it is empty)."""
    faults = [_drop_line, _change_characters, _cut, _empty]
    chance.shuffle(faults)
    return next((result for fault in faults if (result := fault(text, chance)) != text), text)


def _drop_line(text: str, chance: Random) -> str:
    lines = text.splitlines(keepends=True)
    inner = [k for k, line in enumerate(lines) if line.strip() and not line.startswith("```")]
    if len(lines) < 2 or not inner:  # noqa: PLR2004 - dropping the only line is `_empty`
        return text
    del lines[chance.choice(inner)]
    return "".join(lines)


def _change_characters(text: str, chance: Random) -> str:
    letters = [k for k, character in enumerate(text) if character.isalnum()]
    changed = list(text)
    for k in chance.sample(letters, min(3, len(letters))):
        changed[k] = "x" if changed[k] != "x" else "y"
    return "".join(changed)


def _cut(text: str, chance: Random) -> str:
    return text[: chance.randint(len(text) // 4, max(len(text) // 4, 3 * len(text) // 4))]


def _empty(text: str, chance: Random) -> str:  # noqa: ARG001 - same signature as the other faults
    return ""


def _reference(case: Case) -> str:
    from kgbench.tasks import catalogue

    return catalogue.module(case.task_class).reference(case)


def _guess(case: Case, chance: Random) -> str:
    """Return a random answer, empty if the task class has no level of chance."""
    from kgbench.tasks import catalogue

    guess: Callable[[Case, Random], str] | None
    guess = getattr(catalogue.module(case.task_class), "guess", None)
    return "" if guess is None else guess(case, chance)
