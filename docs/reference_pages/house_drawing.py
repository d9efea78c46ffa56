# SPDX-License-Identifier: Apache-2.0
"""The house as a drawing: one box per room, floors as bands, arrows only downwards.

Layers of boxes, with a bend for every layer that an arrow passes (Sugiyama's method): rooms and
bends are ordered by the means of their neighbours' places, which untangles most arrows, then
swapped with those beside them where that leaves fewer crossings, and last moved to the means of
their neighbours' positions as far as their order permits. Arrows to the same room share their
bends, so that they come together on their way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from docs.reference_pages.house import FLOORS, Floor, arrows, imports, rooms

BOX = (132, 36)
GAP = (26, 38)  # between boxes beside each other, and between layers
BEND = 20  # the room of a bend
LABELS = 168  # for the names of the floors
MARGIN = 20
PAD = 14  # within a floor, above and below its boxes
SWEEPS = 24
STYLE = """\
.ground { fill: #ffffff }
.floor { fill: #f3f6f9 }
.box { fill: #ffffff; stroke: #31597c; stroke-width: 1.4 }
.edge { fill: none; stroke: #7c8b99; stroke-width: 1.3 }
.head { fill: #7c8b99 }
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #14212e; text-anchor: middle }
.name { font-weight: 600 }
.lines { font-size: 10.5px; fill: #4b5b69 }
.title { font-size: 13px; fill: #31597c; text-anchor: start }
@media (prefers-color-scheme: dark) {
.ground { fill: #10181f }
.floor { fill: #1a2530 }
.box { fill: #10181f; stroke: #7fb0d8 }
.edge { stroke: #8797a5 }
.head { fill: #8797a5 }
text { fill: #e6edf3 }
.lines { fill: #a9b7c4 }
.title { fill: #9cc6ea }
}
"""


class Node(NamedTuple):
    """A place on a layer: that of a room, or of a bend on the way to one."""

    layer: int
    room: str
    bend: bool = False

    @property
    def width(self) -> int:
        """How much room it takes from left to right."""
        return BEND if self.bend else BOX[0] + GAP[0]


class Plan(NamedTuple):
    """The nodes of each layer from left to right, and the lines between those of two layers."""

    layers: list[list[Node]]
    lines: list[tuple[Node, Node]]


def layered() -> list[tuple[Floor, list[list[str]]]]:
    """Return the floors from the top, with rooms in layers: each room is above its imports."""
    found = []
    for floor in reversed(FLOORS):
        depth: dict[str, int] = {}
        for room in floor.rooms:
            below = [depth[other] for other in imports()[room] if other in depth]
            depth[room] = max(below, default=-1) + 1
        layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
        for room in floor.rooms:
            layers[-1 - depth[room]].append(room)
        found.append((floor, layers))
    return found


def planned() -> Plan:
    """Return the rooms and bends on their layers, in an order in which few lines cross."""
    layers = [layer for _, of_floor in layered() for layer in of_floor]
    place = {room: number for number, layer in enumerate(layers) for room in layer}
    nodes = [[Node(number, room) for room in layer] for number, layer in enumerate(layers)]
    lines: dict[tuple[Node, Node], None] = {}
    for start, end in arrows():
        way = [
            Node(place[start], start),
            *(Node(layer, end, bend=True) for layer in range(place[start] + 1, place[end])),
            Node(place[end], end),
        ]
        lines |= dict.fromkeys(pairwise(way))
        for node in way[1:-1]:
            if node not in nodes[node.layer]:
                nodes[node.layer].append(node)
    return Plan(_untangled(nodes, list(lines)), list(lines))


def _untangled(layers: list[list[Node]], lines: Sequence[tuple[Node, Node]]) -> list[list[Node]]:
    best, least = layers, _crossings(layers, lines)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        toward = _neighbours(lines if down else [(end, start) for start, end in lines])
        layers = [list(layer) for layer in layers]
        for number in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            before = layers[number - 1 if down else number + 1]
            share = {node: (k + 0.5) / len(before) for k, node in enumerate(before)}
            here = {node: (k + 0.5) / len(layers[number]) for k, node in enumerate(layers[number])}
            layers[number].sort(
                key=lambda node: _mean([share[o] for o in toward.get(node, ())], here[node])
            )
        _swap(layers, lines)
        count = _crossings(layers, lines)
        if count < least:
            best, least = layers, count
    return best


def _swap(layers: list[list[Node]], lines: Sequence[tuple[Node, Node]]) -> None:
    """Exchange nodes beside each other as long as fewer lines cross."""
    found = True
    while found:
        found = False
        for number, layer in enumerate(layers):
            near = [line for line in lines if line[0].layer in (number - 1, number)]
            least = _crossings(layers, near)
            for k in range(len(layer) - 1):
                layer[k], layer[k + 1] = layer[k + 1], layer[k]
                count = _crossings(layers, near)
                if count < least:
                    least, found = count, True
                else:
                    layer[k], layer[k + 1] = layer[k + 1], layer[k]


def _neighbours(lines: Iterable[tuple[Node, Node]]) -> dict[Node, list[Node]]:
    """For the lower end of each line those above it."""
    found: dict[Node, list[Node]] = {}
    for start, end in lines:
        found.setdefault(end, []).append(start)
    return found


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(layers: list[list[Node]], lines: Sequence[tuple[Node, Node]]) -> int:
    place = {node: number for layer in layers for number, node in enumerate(layer)}
    of_layer: dict[int, list[tuple[int, int]]] = {}
    for start, end in lines:
        of_layer.setdefault(start.layer, []).append((place[start], place[end]))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0
        for ends in of_layer.values()
        for k, a in enumerate(ends)
        for b in ends[:k]
    )


def positions(plan: Plan) -> dict[Node, float]:
    """Return the distance of each node's centre from the left edge of the drawing."""
    up = _neighbours(plan.lines)
    down = _neighbours((end, start) for start, end in plan.lines)
    found: dict[Node, float] = {}
    for layer in plan.layers:
        left = -sum(node.width for node in layer) / 2
        for node in layer:
            found[node] = left + node.width / 2
            left += node.width
    for _ in range(SWEEPS):
        for layer in plan.layers:
            wished = []
            for node in layer:
                near = [*up.get(node, ()), *down.get(node, ())]
                bends = [each for each in near if each.bend] if node.bend else []
                wished.append(_mean([found[each] for each in bends or near], found[node]))
            found |= dict(zip(layer, _apart(layer, wished), strict=True))
    left = min(x - node.width / 2 for node, x in found.items())
    return {node: x - left + LABELS + MARGIN for node, x in found.items()}


def _apart(layer: Sequence[Node], wished: Sequence[float]) -> list[float]:
    """Return the positions nearest to those wished, in squares, at which no two nodes overlap."""
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + (one.width + other.width) / 2)
    groups: list[list[float]] = []
    for wish, offset in zip(wished, offsets, strict=True):
        groups.append([wish - offset])
        while groups[1:] and _mean(groups[-2], 0) > _mean(groups[-1], 0):
            groups[-2:] = [groups[-2] + groups[-1]]
    level = [_mean(group, 0) for group in groups for _ in group]
    return [each + offset for each, offset in zip(level, offsets, strict=True)]


def house() -> str:
    """Return the rooms on their floors with the imports that do not follow from others, as SVG."""
    plan = planned()
    across = positions(plan)
    width = max(x + node.width / 2 for node, x in across.items()) + MARGIN
    bands, middles = [], {}
    top: float = MARGIN
    number = 0
    for floor, layers in layered():
        height = len(layers) * BOX[1] + (len(layers) - 1) * GAP[1] + 2 * PAD
        bands.append(_band(floor.title, top, height, width))
        for k in range(len(layers)):
            middles[number] = top + PAD + k * (BOX[1] + GAP[1]) + BOX[1] / 2
            number += 1
        top += height + GAP[1] - PAD
    total = top - GAP[1] + PAD + MARGIN
    spots = {node: (x, middles[node.layer]) for node, x in across.items()}
    title = "The rooms of kgbench on their floors, and the imports between them"
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {total:.0f}" '
            f'width="{width:.0f}" height="{total:.0f}" role="img" aria-label="{title}">'
        ),
        f"<title>{title}</title><style>{STYLE}</style>",
        (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker>'
            "</defs>"
        ),
        f'<rect class="ground" width="{width:.0f}" height="{total:.0f}" rx="8"/>',
        *bands,
        *(_line(start, end, spots) for start, end in plan.lines),
        *(_box(node, spots[node]) for layer in plan.layers for node in layer if not node.bend),
    ]
    return "\n".join([*parts, "</svg>\n"])


def _band(title: str, top: float, height: float, width: float) -> str:
    return (
        f'<rect class="floor" x="{MARGIN / 2:g}" y="{top:g}" width="{width - MARGIN:.1f}" '
        f'height="{height:g}" rx="8"/><text class="title" x="{MARGIN}" '
        f'y="{top + height / 2 + 4.5:g}">{escape(title)}</text>'
    )


def _line(start: Node, end: Node, spots: Mapping[Node, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = spots[start], spots[end]
    y1, y2 = y1 + BOX[1] / 2, y2 - BOX[1] / 2 - (not end.bend)
    half = (y2 - y1) / 2
    past = f" V{y2 + BOX[1]:.1f}" if end.bend else ""  # straight down beside the boxes of a layer
    head = "" if end.bend else ' marker-end="url(#head)"'
    return (
        f'<path class="edge" d="M{x1:.1f} {y1:.1f} C{x1:.1f} {y1 + half:.1f} '
        f'{x2:.1f} {y2 - half:.1f} {x2:.1f} {y2:.1f}{past}"{head}/>'
    )


def _box(node: Node, spot: tuple[float, float]) -> str:
    x, y = spot
    return (
        f'<rect class="box" x="{x - BOX[0] / 2:.1f}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" '
        f'height="{BOX[1]}" rx="6"/>'
        f'<text class="name" x="{x:.1f}" y="{y - 1:g}">{escape(node.room)}</text>'
        f'<text class="lines" x="{x:.1f}" y="{y + 12:g}">{rooms()[node.room].lines:,} lines</text>'
    )
