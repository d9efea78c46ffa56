# SPDX-License-Identifier: Apache-2.0
"""The registry in a store's catalogue: every result graph with its change stamp."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from kgbench.store.iris import Iris
from kgbench.store.templates import fill


class _Store(Protocol):
    iris: Iris

    def query(self, text: str) -> Any: ...


def stamps(store: _Store) -> dict[str, int]:
    """The change stamp of every registered graph; the latest, where there are several."""
    found: dict[str, int] = {}
    for row in store.query(fill("stamps.rq", catalogue=store.iris.catalogue)):
        graph = row["graph"].value
        found[graph] = max(found.get(graph, 0), int(row["stamp"].value))
    return found


def next_stamp(stamps: Mapping[str, int], graphs: Iterable[str]) -> int:
    """The change stamp of a write to ``graphs``: later than any stamp that one of them has.

    All graphs of one write get the same stamp, and no graph of another write has it.
    """
    return max((time.time_ns(), *(stamps.get(graph, 0) + 1 for graph in graphs)))


def last_registration(store: _Store) -> int:
    """The number of the write that registered a graph last; 0 where there is none yet."""
    (row,) = store.query(fill("last-registration.rq", catalogue=store.iris.catalogue))
    return 0 if row["last"] is None else int(row["last"].value)


def graphs(store: _Store) -> list[str]:
    """The registered graphs, in order; the catalogue is none of them."""
    rows = store.query(fill("registry.rq", catalogue=store.iris.catalogue))
    return sorted({row["graph"].value for row in rows})
