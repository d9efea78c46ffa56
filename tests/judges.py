# SPDX-License-Identifier: Apache-2.0
"""Judging children that stay from one test to the next, because each takes half a second to start.

A test that asks for ``local`` or ``local:N`` is lent threads whose children were started like those
that it would start itself: with the same environment, path, task classes and key. When it gives
them back its work is done, and they wait for the next test. A test of children and pools themselves
asks for the fixture ``own_judges``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from importlib.metadata import entry_points
from typing import Any

import pytest

from kgbench.children.commands import environment
from kgbench.execution import pools
from kgbench.tasks import keys

_MOST_POOLS = 3  # that are kept; a child has some hundred megabytes


class Lent(Executor):
    """Threads of a pool that somebody else keeps; giving them back waits for what they do."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._futures: set[Future[Any]] = set()
        self.given_back = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have something done."""
        if self.given_back:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = self._pool.submit(fn, *args, **kwargs)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Give the threads back."""
        self.given_back = True
        under_way = set(self._futures)
        if cancel_futures:
            for future in under_way:
                future.cancel()
        if wait:
            _wait(under_way)


_wait = wait  # a parameter of shutdown has its name


class Judges:
    """The pools that were made last, by what their children were started with."""

    def __init__(self) -> None:
        self._pools: dict[tuple[object, ...], ThreadPoolExecutor] = {}
        self._lent: list[tuple[tuple[object, ...], Lent]] = []

    def lend(self, workers: int, thread_name_prefix: str = "") -> Lent:
        """Threads for a test; called in the place of :class:`ThreadPoolExecutor`."""
        key = (workers, *surroundings())
        pool = self._pools.pop(key, None) or ThreadPoolExecutor(workers, thread_name_prefix)
        self._pools[key] = pool  # the newest is the last
        self._lent = [(of, one) for of, one in self._lent if not one.given_back]
        self._lent.append((key, Lent(pool)))
        in_use = {of for of, _ in self._lent}
        idle = [of for of in self._pools if of not in in_use]
        for of in idle[: max(len(self._pools) - _MOST_POOLS, 0)]:
            self._pools.pop(of).shutdown()
        return self._lent[-1][1]

    def end(self) -> None:
        """End all threads, and their children with them."""
        for pool in self._pools.values():
            pool.shutdown()


def surroundings() -> tuple[object, ...]:
    """What a child that is started now would know."""
    classes = {point.name for point in entry_points(group="kgbench.tasks")}
    variables = tuple(sorted(environment().items()))
    return variables, keys.user_key(), tuple(sorted(classes))


@pytest.fixture(scope="session", autouse=True)
def lent_judges() -> Iterator[None]:
    """Every test is lent what judges, except where it wants its own."""
    judges = Judges()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "ThreadPoolExecutor", judges.lend)
        yield
    judges.end()


@pytest.fixture
def own_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test starts and ends its own children, as users do."""
    monkeypatch.setattr(pools, "ThreadPoolExecutor", ThreadPoolExecutor)
