# SPDX-License-Identifier: Apache-2.0
"""The writer thread: order of writes, bounded size of writes, and the stop after a failure."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kgbench.engine import queues as writer_module
from kgbench.engine.queues import Writer
from kgbench.errors import StoreError
from kgbench.store import Block, EmbeddedStore


class Full(EmbeddedStore):
    """An in-memory store that accepts a limited number of writes."""

    def __init__(self, writes):
        super().__init__(None)
        self.left = writes

    def write(self, blocks):
        """Write, or raise an error once the limit is reached."""
        self.left -= 1
        if self.left < 0:
            raise StoreError("no space left")
        super().write(blocks)


def test_after_a_failed_write_nothing_is_written():
    """After a failed write nothing more is written, and every later write raises that error."""
    graph = "https://w3id.org/kgbench/graph/run/x"

    def block(k):
        return [Block(graph, [f"<urn:s{k}> <urn:p> {k} ."])]

    async def writing(store):
        writer = Writer(store, asyncio.get_running_loop())
        await writer.put(block(0))
        writer.post(block(1))
        said = []
        for k in (2, 3):
            with pytest.raises(StoreError, match="no space left") as error:
                await writer.put(block(k))
            said.append(error.value)
            store.left = 10
        await writer.close()
        return said

    with Full(1) as store:
        said = asyncio.run(writing(store))
        held = [triple.subject.value for triple in store.triples(graph)]

    assert said[0] is said[1]
    assert held == ["urn:s0"]


def test_what_queues_up_is_written_in_bounded_pieces(monkeypatch):
    """Queued blocks are combined into writes of bounded size, in their order."""
    monkeypatch.setattr(writer_module, "_MOST_CHARACTERS", 100)
    graph = "https://w3id.org/kgbench/graph/run/x"
    blocked, sizes = threading.Event(), []

    class Slow(EmbeddedStore):
        def write(self, blocks):
            blocked.wait(60)
            sizes.append(sum(len(block.triples) for block in blocks))
            super().write(blocks)

    async def writing(store):
        writer = Writer(store, asyncio.get_running_loop())
        writer.post([Block(graph, ["<urn:first> <urn:p> 0 ."])])
        for k in range(10):
            writer.post([Block(graph, [f"<urn:s{k}> <urn:p> {'1' * 40} ."])])
        blocked.set()
        await writer.close()

    with Slow(None) as store:
        asyncio.run(writing(store))
        held = len(list(store.triples(graph)))

    assert held == sum(sizes) == 11
    assert max(sizes) <= 3
    assert len(sizes) > 3


def test_an_idle_writer_ends():
    """Closing an idle writer ends its thread."""

    async def idle(store):
        writer = Writer(store, asyncio.get_running_loop())
        await writer.put([])
        await writer.close()
        return writer._thread.is_alive()

    with EmbeddedStore(None) as store:
        assert asyncio.run(idle(store)) is False
