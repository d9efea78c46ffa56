# SPDX-License-Identifier: Apache-2.0
"""The registry in a store's catalogue: every result graph with its change stamp, and the layout.

The current layout is opened, all others are refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cache

from kgbench.errors import LayoutError, StoreError
from kgbench.rdf.declared import shipped
from kgbench.store.iris import new_id
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import KGB


def stamps(store: Store) -> dict[str, int]:
    """Return the latest change stamp of every registered graph."""
    latest: dict[str, int] = {}
    for row in store.query(fill("stamps.rq", catalogue=store.iris.catalogue)):
        graph = row["graph"].value
        latest[graph] = max(latest.get(graph, 0), int(row["stamp"].value))
    return latest


def next_stamp(stamps: Mapping[str, int], graphs: Iterable[str]) -> int:
    """Return the change stamp of a write to ``graphs``, greater than all their stamps.

    All graphs of a write get the same stamp, which no other write has.
    """
    return max((time.time_ns(), *(stamps.get(graph, 0) + 1 for graph in graphs)))


def last_registration(store: Store) -> int:
    """Return the number of the last write that registered a graph; 0 if there is none."""
    (row,) = store.query(fill("last-registration.rq", catalogue=store.iris.catalogue))
    return 0 if row["last"] is None else int(row["last"].value)


def graphs(store: Store) -> list[str]:
    """Return the registered graphs, in order, without the catalogue."""
    rows = store.query(fill("registry.rq", catalogue=store.iris.catalogue))
    return sorted({row["graph"].value for row in rows})


def unregistered(store: Store, existing: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return those of the ``existing`` graphs of results that are not ``known``, in order."""
    ours = store.iris.base + "graph/"
    others = {*known, store.iris.catalogue, store.iris.mint("leaseGraph")}
    return sorted(graph for graph in existing if graph.startswith(ours) and graph not in others)


def beside(store: Store) -> str:
    """Return a new graph for entries that are loaded in pieces and added to the catalogue at once.

    ``store/show.ru`` adds them. The name is unique: an update that arrives late adds nothing else.
    """
    return f"{store.iris.catalogue}/{new_id()}"


def refuse_results(store: Store) -> None:
    """Raise :class:`~kgbench.errors.StoreError` if a store has results."""
    existing = graphs(store)
    if existing:
        raise StoreError(
            f"the store {store.location} has results already ({len(existing)} graphs): copy into "
            "an empty one"
        )


# --- the layout ---------------------------------------------------------------------------------


@cache
def current_layout() -> int:
    """Return the layout version that this code writes, from ``store/layout.ttl``."""
    declared = shipped("store", "layout.ttl")
    for node in declared.subjects(KGB.layoutVersion):
        return declared.required_as(node, KGB.layoutVersion, int)
    raise LayoutError("store/layout.ttl declares no kgb:layoutVersion")


def layout(store: Store) -> int | None:
    """Return the layout version that a store records; ``None`` if it is empty.

    Raises :class:`~kgbench.errors.LayoutError` for several versions, or one that is no number.
    """
    rows = list(store.query(fill("layout-version.rq", catalogue=store.iris.catalogue)))
    if not rows:
        return None
    versions = {row["version"].value for row in rows}
    if len(versions) != 1 or not next(iter(versions)).isdecimal():
        raise LayoutError(
            f"the store {store.location} records the layouts {', '.join(sorted(versions))}: "
            "restore it from a backup"
        )
    return int(versions.pop())


def check_layout(store: Store) -> int | None:
    """Return the result of :func:`layout`; raises :class:`LayoutError` for other layouts."""
    number, current = layout(store), current_layout()
    if number in (None, current):
        return number
    raise LayoutError(
        f"the store {store.location} has layout {number}, this kgbench reads layout {current}: "
        "finish its runs with the version that wrote it, or export them with that one (`kgbench "
        "export llm-kg-bench --redact none`) and import the files into a new store (`kgbench "
        "import llm-kg-bench`)"
    )
