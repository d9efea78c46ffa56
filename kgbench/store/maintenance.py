# SPDX-License-Identifier: Apache-2.0
"""Maintenance of stores: consistency checks, and removal of graphs that are no longer needed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kgbench.store import registry
from kgbench.store.copying import digest_of
from kgbench.store.protocol import OwnedStore, Store
from kgbench.store.templates import fill


@dataclass(slots=True)
class CheckResult:
    """The result of a check: messages about ``problems``, and counts of graphs and triples.

    ``parts`` has the problems of the owner's files and of each snapshot of an embedded store.
    """

    location: str
    layout: int | None
    graphs: int = 0
    triples: int = 0
    writer: str | None = None
    problems: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The numbers of removed graphs: stale analyses, and graphs without a registry entry."""

    analyses: int
    orphans: int


def check(store: Store, *, digest: bool = False) -> CheckResult:
    """Check whether registry and graphs of a store agree; with ``digest``, compute all digests.

    Raises :class:`~kgbench.errors.LayoutError` for another layout.
    """
    result = CheckResult(store.location, registry.check_layout(store))
    catalogue, lease = store.iris.catalogue, store.iris.mint("leaseGraph")
    sizes = _sizes(store)
    rows = list(store.query(fill("registry.rq", catalogue=catalogue)))
    known = {row["graph"].value for row in rows}
    result.graphs = len(known)
    result.triples = sum(sizes.get(graph, 0) for graph in (*known, catalogue))
    result.problems += sorted(
        [
            *_entries(store, rows),
            *(
                f"{graph} has no registry entry"
                for graph in registry.unregistered(store, sizes, known)
            ),
            *(
                f"{row['graph'].value} has blank nodes"
                for row in store.query(fill("blank-nodes.rq", base=store.iris.base))
                if row["graph"].value in {*known, catalogue}
            ),
        ]
    )
    for row in store.query(fill("lease.rq", graph=lease, lease=store.iris.mint("lease"))):
        result.writer = f"{row['who'].value}, until {row['until'].value}"
    if digest:
        for graph in (*sorted(known), catalogue):
            result.digests[graph] = digest_of(store.triples(graph)).value
    return result


def _entries(store: Store, rows: Sequence[Any]) -> Iterator[str]:
    """Yield messages about wrong registry entries."""
    for graph, count in Counter(row["graph"].value for row in rows).items():
        if count > 1:
            yield f"{graph} has several registry entries or change stamps"
    for row in rows:
        graph, describes = row["graph"].value, row["describes"]
        if row["stamp"] is None:
            yield f"{graph} has no change stamp"
        if describes is None:
            yield f"{graph} is registered without the resource that it describes"
        elif not store.query(fill("described.rq", graph=graph, describes=describes.value)):
            yield f"{graph} has no triples about {describes.value}"


def stale_analyses(store: Store) -> list[str]:
    """Return the graphs of stored analyses whose inputs have changed since."""
    stamps = registry.stamps(store)
    read: dict[str, bool] = {}
    for row in store.query(fill("analyses.rq", catalogue=store.iris.catalogue)):
        graph, of, stamp = (row[name].value for name in ("graph", "read", "stamp"))
        read[graph] = read.get(graph, True) and str(stamps.get(of)) == stamp
    return sorted(graph for graph, current in read.items() if not current)


def analyses_of(store: Store, graphs: set[str]) -> list[str]:
    """Return the graphs of stored analyses that read one of ``graphs``."""
    rows = store.query(fill("analyses.rq", catalogue=store.iris.catalogue))
    return sorted({row["graph"].value for row in rows if row["read"].value in graphs})


def compact(store: OwnedStore) -> CompactionResult:
    """Remove stale analyses, graphs without a registry entry, and duplicate change stamps."""
    orphans = registry.unregistered(store, _sizes(store), registry.graphs(store))
    stale = stale_analyses(store)
    if orphans or stale:
        store.drop([*orphans, *stale])
    store.update(fill("latest-stamps.ru", catalogue=store.iris.catalogue))
    store.optimize()
    return CompactionResult(len(stale), len(orphans))


def _sizes(store: Store) -> dict[str, int]:
    sizes: dict[str, int] = defaultdict(int)
    for row in store.query(fill("graph-sizes.rq", base=store.iris.base)):
        sizes[row["graph"].value] += int(row["triples"].value)
    return sizes
