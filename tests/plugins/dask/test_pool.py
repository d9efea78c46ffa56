# SPDX-License-Identifier: Apache-2.0
"""The executor of a Dask cluster, with a client in place of Dask's."""

import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgbench.errors import ConfigurationError
from kgbench.execution.judging import JudgeLimits, judge_batch
from kgbench.execution.pools import executor, workers
from tests.execution.test_pools import friend_count

pytestmark = pytest.mark.usefixtures("own_judges")


def test_dask_must_be_installed(monkeypatch):
    """Without Dask the error says which package to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match="pip install"):
        executor("dask:tcp://127.0.0.1:1")


@pytest.fixture
def dask(monkeypatch):
    """Replace Dask by a client with two workers; return the list of closed clients."""

    class Workers(ThreadPoolExecutor):
        def shutdown(self, wait=True):  # the same narrow signature as in Dask
            super().shutdown(wait)

    closed = []

    class Client:
        status = "running"

        def __init__(self, address, timeout):
            assert (address, timeout) == ("tcp://127.0.0.1:8786", "10s")

        def get_executor(self, *, pure):
            assert not pure
            return Workers(1)

        def nthreads(self):
            return {"a": 1, "b": 1}

        def close(self):
            closed.append(True)

    monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(Client=Client))
    return closed


def test_dask_pools_hand_batches_to_the_client(dask):
    """Batches run in the Dask client's executor; shutdown closes the client."""
    with executor("dask:tcp://127.0.0.1:8786") as pool:
        [verdict] = pool.submit(judge_batch, [friend_count()], JudgeLimits()).result()
        assert workers(pool) == 2
    assert verdict.scores["f1"] == 1.0
    assert dask == [True]


def test_dask_pools_can_cancel(dask):
    """Shutdown with ``cancel_futures`` cancels the batches that have not begun."""
    pool = executor("dask:tcp://127.0.0.1:8786")
    begun, go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        return go_on.wait(30)

    first, second = pool.submit(wait), pool.submit(wait)
    assert begun.wait(30)
    pool.shutdown(wait=False, cancel_futures=True)
    assert second.cancelled()
    go_on.set()
    assert first.result()
    assert dask == [True]
