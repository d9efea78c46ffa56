# SPDX-License-Identifier: Apache-2.0
"""Judging of whole dialogues, some batches ahead of the consumer of the verdicts."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import in_order, split_parts
from kgbench.model import Case, Dialogue, Verdict
from kgbench.tool_calls import TOOL_RESULTS

Part: TypeAlias = Sequence[tuple[Dialogue, Case]]
Of = TypeVar("Of")


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

    def batches() -> Iterator[tuple[tuple[Of, Part, list[tuple[int, ...]]], list[JudgeRequest]]]:
        for of, part in parts:
            judged = [dialogue.judged for dialogue, _ in part]
            requests = [
                request(dialogue, case, k)
                for (dialogue, case), rounds in zip(part, judged, strict=True)
                for k in rounds
            ]
            yield (of, part, judged), requests

    for (of, part, judged), verdicts in in_order(batches(), executor, judge_batch, limits):
        remaining = iter(verdicts)
        yield of, part, [list(islice(remaining, len(rounds))) for rounds in judged]
