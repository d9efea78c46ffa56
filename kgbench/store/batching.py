# SPDX-License-Identifier: Apache-2.0
"""Division of writes into requests of bounded size.

A triple is never divided: one with a literal above the limit is sent alone, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgbench.store.protocol import Block

_OVERHEAD = 1_000  # bytes for the text around the triples of an update


def by_graph(blocks: Iterable[Block], limit: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the triples of ``blocks`` in pieces of at most ``limit`` bytes, each for one graph.

    The order within a graph is kept; only a few pieces are in memory at a time.

    >>> list(by_graph([Block("g", ["a"]), Block("h", ["b"]), Block("g", ["c"])], 10_000))
    [('g', ['a', 'c']), ('h', ['b'])]
    """
    most = max(1, limit - _OVERHEAD)
    waiting: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for graph, lines in blocks:
        for line in lines:
            size = len(line.encode("utf-8")) + 1
            if sizes.get(graph, 0) + size > most and waiting.get(graph):
                yield graph, waiting.pop(graph)
                sizes[graph] = 0
            waiting.setdefault(graph, []).append(line)
            sizes[graph] = sizes.get(graph, 0) + size
        if sum(sizes[name] for name in waiting) > 4 * most:
            fullest = max(waiting, key=lambda name: sizes[name])
            yield fullest, waiting.pop(fullest)
            sizes[fullest] = 0
    yield from waiting.items()


def size(blocks: Iterable[Block]) -> int:
    """Return the approximate size of an update with ``blocks``, in bytes."""
    return _OVERHEAD + sum(len(line.encode("utf-8")) + 1 for b in blocks for line in b.triples)
