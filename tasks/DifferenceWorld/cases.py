# SPDX-License-Identifier: Apache-2.0
"""Pairs of graphs about things of a world, the second with some changes to the first.

The difference is the unique smallest one over all pairings of blank nodes
(:func:`kgbench.worlds.rows.only_difference`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from kgbench.api import Chance, World, build_graph, first_drawn
from kgbench.worlds.rows import (
    LINES,
    OTHERS,
    USUAL,
    Difference,
    Row,
    blank_nodes,
    foldable_nodes,
    line,
    only_difference,
    write_graph,
)

from .edits import Editing, Part

VERSION: Final = 1
"""Rises when the same seed gives other graphs or changes."""
_TRIES: Final = 400
_EDITS: Final = {1: 4, 2: 3, 3: 3, 4: 4}
_MOST_REMOVED: Final = 4
_MOST_ADDED: Final = 6
_LINES_LEVEL: Final = 4  # the lowest level whose second graph may be N-Triples


class Pair(NamedTuple):
    """Two graphs as texts and as N-Triples, with the removed and added triples.

    ``removed`` uses the blank node labels of the first text, ``added`` those of the second.
    """

    texts: tuple[str, str]
    triples: tuple[tuple[str, ...], tuple[str, ...]]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    features: tuple[str, ...]


@lru_cache(maxsize=256)
def draw_pair(world: World, level: int, number: int) -> Pair:
    """Return the pair with a number, counted from 0.

    Raises :class:`~kgbench.errors.TaskError` if no attempt succeeds.
    """
    seed = (VERSION, world.seed, world.instances, "differences", level, number)
    chance = Chance(*seed)
    # One pair in six has no change.
    edits = 0 if chance.between(1, 6) == 1 else chance.between(1, _EDITS[level])

    def draw(attempt: int) -> Pair | None:
        return _drawn(world, level, edits, Chance(*seed, attempt))

    return first_drawn(draw, _TRIES, f"two graphs of level {level}")


def _drawn(world: World, level: int, edits: int, chance: Chance) -> Pair | None:
    part = Part(build_graph(world), level, chance)
    first = part.rows
    editing = Editing(part, chance)
    for _ in range(edits):
        editing.edit()
    second = editing.rows
    removed, added = first - second, second - first
    if bool(removed or added) != bool(edits):
        return None
    if len(removed) > _MOST_REMOVED or len(added) > _MOST_ADDED:
        return None
    if only_difference(first, second, len(removed)) != Difference(removed, added):
        return None
    labels = [_labels(rows, chance) for rows in (first, second)]
    touched = {node for row in (*removed, *added) for node in blank_nodes(row)}
    style = chance.one([*OTHERS, LINES] if level >= _LINES_LEVEL else OTHERS)
    texts = []
    for rows, names, spelling in zip((first, second), labels, (USUAL, style), strict=True):
        folded = [
            node for node in foldable_nodes(rows) if node not in touched and chance.between(0, 2)
        ]
        relabelled = frozenset(_relabelled(row, names) for row in rows)
        texts.append(write_graph(relabelled, spelling, [names[node] for node in folded], chance))
    triples = [
        tuple(sorted(line(_relabelled(row, names)) for row in rows))
        for rows, names in zip((first, second), labels, strict=True)
    ]
    return Pair(
        (texts[0], texts[1]),
        (triples[0], triples[1]),
        tuple(sorted(line(_relabelled(row, labels[0])) for row in removed)),
        tuple(sorted(line(_relabelled(row, labels[1])) for row in added)),
        tuple(sorted({*part.features, *editing.features})),
    )


def _labels(rows: frozenset[Row], chance: Chance) -> dict[str, str]:
    """Draw new, meaningless labels for the blank nodes of a graph."""
    nodes = sorted({node for row in rows for node in blank_nodes(row)})
    return {node: f"_:b{index + 1}" for index, node in enumerate(chance.shuffled(nodes))}


def _relabelled(row: Row, names: dict[str, str]) -> Row:
    subject, predicate, value = (names.get(cell, cell) for cell in row)
    return subject, predicate, value
