# SPDX-License-Identifier: Apache-2.0
"""The one thread that writes a run's store: atomic, in order, what queues up together."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kgbench.errors import StoreError, WriteFailed
from kgbench.store.protocol import Block, Store

_BATCH = 1_000_000  # characters written at once, at most, beyond the first item


class _Item(NamedTuple):
    blocks: Sequence[Block]
    done: asyncio.Future[None] | None = None
    then: Callable[[], None] | None = None


class Writer:
    """Writes blocks in the order in which they come; each is atomic, and durable once awaited.

    What queues up while a write is under way goes into the next write together. After a failed
    write every later put fails with the same error: nothing is written out of order. ``failed``
    hears of the first failure, in the event loop.
    """

    def __init__(
        self,
        store: Store,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._failed = failed
        self._loop = loop
        self._items: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="kgbench-writer", daemon=True)
        self._thread.start()

    def post(self, blocks: Sequence[Block], then: Callable[[], None] | None = None) -> None:
        """Queue ``blocks``; a failure shows in the next :meth:`put` that is awaited.

        ``then`` is called once they are durable, in the thread that writes.
        """
        self._items.put(_Item(blocks, then=then))

    def put(
        self, blocks: Sequence[Block], then: Callable[[], None] | None = None
    ) -> asyncio.Future[None]:
        """Queue ``blocks``; the future is done when they are durable. ``then`` is as in `post`."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._items.put(_Item(blocks, done, then))
        return done

    @property
    def has_failed(self) -> bool:
        """Whether a write failed, and none after it was tried."""
        return self._failure is not None

    async def close(self) -> None:
        """Write what is queued, then end."""
        self._items.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            batch, ends = self._more(item)
            if self._failure is None:
                try:
                    self._store.write(_merged(batch))
                    for written in batch:
                        if written.then is not None:
                            written.then()
                except BaseException as error:  # noqa: BLE001 - handed to whoever awaits the write
                    self._failure = _in_words(error, self._store)
                    self._loop.call_soon_threadsafe(self._failed, self._failure)
            self._loop.call_soon_threadsafe(_settle, batch, self._failure)
            if ends:
                return

    def _more(self, first: _Item) -> tuple[list[_Item], bool]:
        batch, size = [first], 0
        while size < _BATCH:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                return batch, False
            if item is None:
                return batch, True
            batch.append(item)
            size += sum(len(line) for block in item.blocks for line in block.triples)
        return batch, False


def _in_words(error: BaseException, store: Store) -> BaseException:
    """A failure of the store as a failed write; anything else is a defect and stays as it is."""
    if isinstance(error, WriteFailed) or not isinstance(error, OSError | StoreError):
        return error
    failed = WriteFailed(f"the store {store.location} cannot be written: {error}")
    failed.__cause__ = error
    return failed


def _merged(batch: Sequence[_Item]) -> list[Block]:
    merged: dict[str, list[str]] = {}
    for item in batch:
        for graph, triples in item.blocks:
            merged.setdefault(graph, []).extend(triples)
    return [Block(graph, triples) for graph, triples in merged.items()]


def _settle(batch: Sequence[_Item], failure: BaseException | None) -> None:
    for item in batch:
        if item.done is None or item.done.done():
            continue
        if failure is None:
            item.done.set_result(None)
        else:
            item.done.set_exception(failure)
