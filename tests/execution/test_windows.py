# SPDX-License-Identifier: Apache-2.0
"""Windows of batches: results in order, a bounded number of batches under way."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from itertools import count

import pytest

from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import in_order, split_parts


class Held(Executor):
    """An executor of some workers whose batches run when the test completes them."""

    def __init__(self, workers, *, at_once=False):
        self._max_workers, self._at_once = workers, at_once
        self.futures = []

    def submit(self, fn, /, *args):
        """Keep a call."""
        future = Future()
        self.futures.append((future, fn, args))
        if self._at_once:
            self.complete(-1)
        return future

    def complete(self, k):
        """Run the call with this index."""
        future, fn, args = self.futures[k]
        future.set_result(fn(*args))


def doubled(batch, limits):
    """Return twice each number."""
    assert limits == JudgeLimits()
    return [2 * number for number in batch]


@pytest.mark.parametrize(("workers", "window"), [(1, 9), (4, 9), (8, 17)])
def test_a_window_is_under_way_ahead_of_the_consumer(workers, window):
    """Of endless batches, two per worker and at least eight are submitted ahead, in order."""
    pool = Held(workers)
    stream = in_order(((k, [k]) for k in count()), pool, doubled, JudgeLimits())
    submit = pool.submit

    def submit_and_complete(*args):
        future = submit(*args)
        if len(pool.futures) == window:
            for k in reversed(range(window)):  # the last batch is completed first
                pool.complete(k)
        return future

    pool.submit = submit_and_complete
    assert next(stream) == (0, [0])
    assert len(pool.futures) == window
    assert [next(stream) for _ in range(2)] == [(1, [2]), (2, [4])]
    assert len(pool.futures) == window + 2


def test_empty_batches_keep_their_place():
    """Empty batches are not submitted, and are passed on in order."""
    pool = Held(1, at_once=True)
    batches = [("a", []), ("b", [1, 2]), ("c", [])]
    found = list(in_order(batches, pool, doubled, JudgeLimits()))
    assert found == [("a", []), ("b", [2, 4]), ("c", [])]
    assert len(pool.futures) == 1


def test_an_interruption_cancels_batches_that_have_not_begun():
    """After an exception, no batch of the window begins any more."""

    def interrupted():
        yield from ((k, [k]) for k in range(5))
        raise KeyboardInterrupt

    pool = Held(1)
    with pytest.raises(KeyboardInterrupt):
        list(in_order(interrupted(), pool, doubled, JudgeLimits()))
    assert [future.cancelled() for future, _, _ in pool.futures] == [True] * 5


def test_parts_have_a_limited_size():
    """Items are split into parts of 64, in order."""
    parts = list(split_parts(iter(range(130))))
    assert [len(part) for part in parts] == [64, 64, 2]
    assert [number for part in parts for number in part] == list(range(130))
