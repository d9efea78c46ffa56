# SPDX-License-Identifier: Apache-2.0
"""Bulk loading of new parts of a store, several short ones at once.

Each load adds a file to every index of an embedded store, and the engine rewrites an index when it
has two new files. With one load per run of 500 dialogues, that took a quarter of the processor time
of a re-evaluation and a third of that of an import.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from kgbench.store.protocol import Block, Store

_TOGETHER = 20.0  # seconds within which parts begin that are loaded together


class LoadedPart(Protocol):
    """New graphs that are loaded in bulk, and that a later write makes visible."""

    @property
    def run(self) -> str:
        """The IRI of the run that the part belongs to."""

    @property
    def graphs(self) -> Sequence[str]:
        """The graphs that are removed if the part cannot be completed."""

    def blocks(self) -> Iterator[Block]:
        """Yield the content to be loaded."""

    def closing(self) -> Sequence[Block]:
        """Return the blocks that make the part visible; nothing if it already is, or is empty."""


_Part = TypeVar("_Part", bound=LoadedPart)


class LoadingTogether(Generic[_Part]):
    """Loads ``parts``, each of which is generated when the content of the one before is complete.

    Two parts of the same run are never loaded at once, because the second one may depend on the
    first.
    """

    def __init__(self, store: Store, parts: Iterable[_Part]) -> None:
        self._store = store
        self._parts = iter(parts)
        self._next: _Part | None = None
        self._unfinished: _Part | None = None
        self._failure: BaseException | None = None

    def visible(self) -> Iterator[_Part]:
        """Yield each part when it is visible.

        If a part fails or is interrupted, earlier parts are kept and it is removed.
        """
        self._next = next(self._parts, None)
        while self._next is not None:
            loaded: list[_Part] = []
            visible: list[_Part] = []
            try:
                self._store.bulk_load(self._blocks(loaded))
                for part in loaded:
                    if closing := part.closing():
                        self._store.write(closing)
                    visible.append(part)
            finally:
                self._drop(loaded[len(visible) :])
            yield from visible
            if self._failure is not None:
                raise self._failure

    def _blocks(self, loaded: list[_Part]) -> Iterator[Block]:
        """Yield the blocks of parts that are loaded at once; append each part to ``loaded``."""
        until = time.monotonic() + _TOGETHER
        try:
            while self._next is not None and _joins(self._next, loaded, until):
                self._unfinished, self._next = self._next, None
                yield from self._unfinished.blocks()
                loaded.append(self._unfinished)
                self._unfinished = None
                self._next = next(self._parts, None)
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again when the others are visible
            self._failure = error

    def _drop(self, parts: Sequence[_Part]) -> None:
        """Remove the graphs of invisible parts, and of the unfinished one."""
        unfinished = () if self._unfinished is None else (self._unfinished,)
        if graphs := [graph for part in (*parts, *unfinished) for graph in part.graphs]:
            self._store.drop(graphs)


def _joins(part: LoadedPart, complete: Sequence[LoadedPart], until: float) -> bool:
    """Return whether a part is loaded at once with ``complete`` ones."""
    if not complete:
        return True
    return time.monotonic() < until and all(part.run != earlier.run for earlier in complete)
