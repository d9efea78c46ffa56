# SPDX-License-Identifier: Apache-2.0
"""Judging processes that are shared by tests, because each takes half a second to start.

A test that uses ``local`` or ``local:N`` gets threads whose processes have the environment, path,
task classes and key that its own would have. When it shuts them down, its work is finished, and
they wait for the next test. A test of processes and pools uses the fixture ``own_judges``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from importlib.metadata import entry_points
from typing import Any

import pytest

from kgbench.children.child import environment
from kgbench.execution import pools
from kgbench.tasks import protection

_MOST_POOLS = 3  # to keep; each process has some hundred megabytes


class Lent(Executor):
    """Threads of a shared pool; ``shutdown`` only waits for the work of the borrower."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._futures: set[Future[Any]] = set()
        self.given_back = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call to the pool."""
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


_wait = wait  # shutdown has a parameter of this name


class Judges:
    """The newest pools, by the settings with which their processes were started."""

    def __init__(self) -> None:
        self._pools: dict[tuple[object, ...], ThreadPoolExecutor] = {}
        self._lent: list[tuple[tuple[object, ...], Lent]] = []

    def lend(self, workers: int, thread_name_prefix: str = "") -> Lent:
        """Return threads for a test; a replacement for :class:`ThreadPoolExecutor`."""
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
        """End all threads and their processes."""
        for pool in self._pools.values():
            pool.shutdown()


def surroundings() -> tuple[object, ...]:
    """Return the settings that a process started now would have."""
    classes = {point.name for point in entry_points(group="kgbench.tasks")}
    variables = tuple(sorted(environment().items()))
    return variables, protection.user_key(), tuple(sorted(classes))


@pytest.fixture(scope="session", autouse=True)
def lent_judges() -> Iterator[None]:
    """Lend shared judging processes to every test, except those with ``own_judges``."""
    judges = Judges()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "ThreadPoolExecutor", judges.lend)
        yield
    judges.end()


@pytest.fixture
def own_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test start and end its own processes, as users do."""
    monkeypatch.setattr(pools, "ThreadPoolExecutor", ThreadPoolExecutor)
