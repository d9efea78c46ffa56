# SPDX-License-Identifier: Apache-2.0
"""Estimates of calls, tokens and cost of a plan, made before any model is asked.

A token is taken as four characters. The lower estimate (``least``) of a dialogue reads the first
prompt and writes the case's reference answer. The upper one (``most``) goes through all rounds of
the task class: each round reads all messages before it and a feedback prompt as long as the first
prompt, and writes another answer. Reasoning tokens are not estimated. Dialogues that are complete
in the store cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kgbench.engine import planning
from kgbench.engine.planning import Exercise
from kgbench.engine.spending import CHARACTERS_PER_TOKEN, Entry, price_of
from kgbench.model import ModelSetup, Plan, Usage
from kgbench.record.accounts import Price
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tools import budget

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
        rounds = budget.of(exercise.case.parameters).calls + 1
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
