# SPDX-License-Identifier: Apache-2.0
"""Judging whole dialogues, a few batches ahead of whoever uses the verdicts."""

from __future__ import annotations

import concurrent.futures
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import TypeAlias, TypeVar

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import workers
from kgbench.model import Case, Dialogue, Verdict
from kgbench.tool_calls import TOOL_RESULTS

_BATCH = 64  # dialogues judged by one call of the executor
_AHEAD = 8  # batches under way while an earlier one is used, at least
_EACH = 2  # batches for each worker: one that it judges, one that waits for it
Part: TypeAlias = Sequence[tuple[Dialogue, Case]]
Of = TypeVar("Of")


def in_parts(todo: Iterable[tuple[Dialogue, Case]]) -> Iterator[Part]:
    """The same dialogues, in parts of the size that is judged by one call of an executor."""
    left = iter(todo)
    while part := list(islice(left, _BATCH)):
        yield part


def request(dialogue: Dialogue, case: Case, k: int) -> JudgeRequest:
    """What is judged of ``dialogue``: answer ``k``, with what tools said before it."""
    with_tools = any(turn.feedback == TOOL_RESULTS for turn in dialogue.turns)
    prompts = tuple(turn.prompt for turn in dialogue.turns[: k + 1]) if with_tools else ()
    return JudgeRequest(case, dialogue.answers[: k + 1], prompts)


def judged(
    todo: Iterable[tuple[Dialogue, Case]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
) -> Iterator[tuple[Dialogue, list[Verdict]]]:
    """Every dialogue with the verdicts on all judged answers, in order; a few batches run ahead."""
    parts = ((None, part) for part in in_parts(todo))
    for _, part, verdicts in judged_parts(parts, executor, limits):
        for (dialogue, _), said in zip(part, verdicts, strict=True):
            yield dialogue, said


def judged_parts(
    parts: Iterable[tuple[Of, Part]], executor: concurrent.futures.Executor, limits: JudgeLimits
) -> Iterator[tuple[Of, Part, list[list[Verdict]]]]:
    """Each part with the verdicts on each answer of each dialogue, in order.

    While a part is used, those after it are read and judged. A part of no dialogues is passed on as
    it is, in its place.
    """
    waiting: deque[tuple[Of, Part, Future[list[Verdict]] | None]] = deque()
    for of, part in parts:
        requests = [request(dialogue, case, k) for dialogue, case in part for k in dialogue.judged]
        future = executor.submit(judge_batch, requests, limits) if requests else None
        waiting.append((of, part, future))
        if len(waiting) > max(_AHEAD, _EACH * workers(executor)):
            yield _unpacked(*waiting.popleft())
    while waiting:
        yield _unpacked(*waiting.popleft())


def _unpacked(
    of: Of, part: Part, future: Future[list[Verdict]] | None
) -> tuple[Of, Part, list[list[Verdict]]]:
    verdicts = iter([] if future is None else future.result())
    return of, part, [[next(verdicts) for _ in dialogue.judged] for dialogue, _ in part]
