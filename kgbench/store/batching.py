# SPDX-License-Identifier: Apache-2.0
"""Dividing what is written into requests of bounded size.

A triple is never divided: one with a literal above the limit goes alone, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgbench.store.protocol import Block

_OVERHEAD = 1_000  # bytes for what stands around triples in an update


def by_graph(blocks: Iterable[Block], limit: int) -> Iterator[tuple[str, list[str]]]:
    """The triples of ``blocks`` in pieces of at most ``limit`` bytes, each for one graph.

    Whatever came first goes first; at most a few pieces are held in memory.

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
        if sum(sizes[one] for one in waiting) > 4 * most:
            fullest = max(waiting, key=lambda one: sizes[one])
            yield fullest, waiting.pop(fullest)
            sizes[fullest] = 0
    yield from waiting.items()


def size(blocks: Iterable[Block]) -> int:
    """About how many bytes an update with ``blocks`` has."""
    return _OVERHEAD + sum(len(line.encode("utf-8")) + 1 for b in blocks for line in b.triples)
