# SPDX-License-Identifier: Apache-2.0
"""Batches for executors, of which a window is under way ahead of the consumer of their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import islice
from typing import TypeVar

from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import workers

_BATCH = 64  # items that one call of an executor processes
_AHEAD = 8  # minimal number of batches under way ahead of the consumer
_EACH = 2  # batches per worker: one being processed, one waiting

Item = TypeVar("Item")
Label = TypeVar("Label")
Request = TypeVar("Request")
Answer = TypeVar("Answer")


def split_parts(items: Iterable[Item]) -> Iterator[Sequence[Item]]:
    """Split items into parts that one call of an executor processes."""
    remaining = iter(items)
    while part := list(islice(remaining, _BATCH)):
        yield part


def in_order(
    batches: Iterable[tuple[Label, Sequence[Request]]],
    executor: Executor,
    fn: Callable[[Sequence[Request], JudgeLimits], list[Answer]],
    limits: JudgeLimits,
) -> Iterator[tuple[Label, list[Answer]]]:
    """Yield the label of each batch with the results of ``fn`` for its requests, in order.

    Later batches are read and processed while the consumer uses an earlier one. Empty batches are
    passed on in their place. Batches that have not begun are cancelled if the consumer stops early.
    """
    waiting: deque[tuple[Label, Future[list[Answer]] | None]] = deque()
    try:
        for label, requests in batches:
            waiting.append((label, executor.submit(fn, requests, limits) if requests else None))
            if len(waiting) > max(_AHEAD, _EACH * workers(executor)):
                yield _completed(*waiting.popleft())
        while waiting:
            yield _completed(*waiting.popleft())
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _completed(label: Label, future: Future[list[Answer]] | None) -> tuple[Label, list[Answer]]:
    return label, [] if future is None else future.result()
