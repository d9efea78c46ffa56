# SPDX-License-Identifier: Apache-2.0
"""Judging of whole dialogues, some batches ahead of the consumer of the verdicts."""

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
_AHEAD = 8  # minimal number of batches under way ahead of the consumer
_EACH = 2  # batches per worker: one being judged, one waiting
Part: TypeAlias = Sequence[tuple[Dialogue, Case]]
Of = TypeVar("Of")


def split_parts(dialogues: Iterable[tuple[Dialogue, Case]]) -> Iterator[Part]:
    """Split dialogues into parts that one call of an executor judges."""
    remaining = iter(dialogues)
    while part := list(islice(remaining, _BATCH)):
        yield part


def request(dialogue: Dialogue, case: Case, k: int) -> JudgeRequest:
    """Return the request to judge answer ``k`` of ``dialogue``, with tool results before it."""
    with_tools = any(turn.feedback == TOOL_RESULTS for turn in dialogue.turns)
    prompts = tuple(turn.prompt for turn in dialogue.turns[: k + 1]) if with_tools else ()
    return JudgeRequest(case, dialogue.answers[: k + 1], prompts)


def judge_dialogues(
    dialogues: Iterable[tuple[Dialogue, Case]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
) -> Iterator[tuple[Dialogue, list[Verdict]]]:
    """Yield each dialogue with the verdicts on all judged answers, in order."""
    parts = ((None, part) for part in split_parts(dialogues))
    for _, part, verdicts in judge_parts(parts, executor, limits):
        for (dialogue, _), dialogue_verdicts in zip(part, verdicts, strict=True):
            yield dialogue, dialogue_verdicts


def judge_parts(
    parts: Iterable[tuple[Of, Part]], executor: concurrent.futures.Executor, limits: JudgeLimits
) -> Iterator[tuple[Of, Part, list[list[Verdict]]]]:
    """Yield each part with the verdicts on each answer of each dialogue, in order.

    Later parts are read and judged while the consumer uses an earlier one. Empty parts are passed
    on in their place.
    """
    waiting: deque[tuple[Of, Part, list[int], Future[list[Verdict]] | None]] = deque()
    for of, part in parts:
        judged = [dialogue.judged for dialogue, _ in part]
        requests = [
            request(dialogue, case, k)
            for (dialogue, case), rounds in zip(part, judged, strict=True)
            for k in rounds
        ]
        future = executor.submit(judge_batch, requests, limits) if requests else None
        waiting.append((of, part, list(map(len, judged)), future))
        if len(waiting) > max(_AHEAD, _EACH * workers(executor)):
            yield _unpacked(*waiting.popleft())
    while waiting:
        yield _unpacked(*waiting.popleft())


def _unpacked(
    of: Of, part: Part, numbers: Sequence[int], future: Future[list[Verdict]] | None
) -> tuple[Of, Part, list[list[Verdict]]]:
    """Return the verdicts by dialogue; ``numbers`` are those of the judged answers of each."""
    verdicts = iter([] if future is None else future.result())
    return of, part, [list(islice(verdicts, number)) for number in numbers]
