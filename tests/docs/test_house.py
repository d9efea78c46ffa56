# SPDX-License-Identifier: Apache-2.0
"""The picture of rooms and floors has every room and import, with arrows only downwards."""

import re
from itertools import pairwise

import pytest

from docs.reference_pages import house, house_drawing


@pytest.fixture(scope="module")
def plan():
    """Return the layout of the picture."""
    return house_drawing.planned()


@pytest.fixture(scope="module")
def drawing():
    """Return the picture."""
    return house_drawing.house()


def test_every_room_is_drawn_with_its_lines(drawing):
    """A box has the name of a room and the number of lines of its modules."""
    boxes = re.findall(
        r'class="name"[^>]*>([^<]+)</text><text class="lines"[^>]*>([\d,]+) lines', drawing
    )
    counted = {
        name: sum(
            len(path.read_text("utf-8").splitlines())
            for path in house.PACKAGE.rglob("*.py")
            if house.room_of(path) == name
        )
        for name in house.rooms()
    }

    assert {name: int(lines.replace(",", "")) for name, lines in boxes} == counted
    assert len(boxes) == len(counted)


def test_arrows_say_every_import():
    """An arrow is an import, and each import is an arrow or follows from arrows."""
    below = {name: {b for a, b in house.arrows() if a == name} for name in house.rooms()}
    reached = {}
    for floor in house.FLOORS:
        for name in floor.rooms:
            reached[name] = below[name].union(*(reached[other] for other in below[name]))

    for name, others in house.imports().items():
        assert below[name] <= others <= reached[name]


def test_a_room_that_can_be_reached_otherwise_has_no_arrow():
    """An import that follows from two arrows has no arrow."""
    arrows = set(house.arrows())

    assert "store" in house.imports()["engine"]
    assert ("engine", "store") not in arrows


def test_each_arrow_goes_down_from_room_to_room(plan):
    """An arrow leads down layer by layer to the imported room, through bends only."""
    ends = {(node.layer, node.room) for layer in plan.layers for node in layer if not node.bend}
    places = {room: layer for layer, room in ends}
    for start, goal in house.arrows():
        node = house_drawing.Node(places[start], start)
        while node.layer + 1 < places[goal]:
            bend = house_drawing.Node(node.layer + 1, goal, bend=True)
            assert (node, bend) in plan.lines, (start, goal)
            node = bend

        assert (node, house_drawing.Node(places[goal], goal)) in plan.lines, (start, goal)


def test_nothing_overlaps(plan, drawing):
    """Boxes and bends of a layer do not overlap, and lie below the layer above."""
    across = house_drawing.positions(plan)
    for layer in plan.layers:
        for one, other in pairwise(layer):
            assert across[other] - across[one] >= (one.width + other.width) / 2 - 1e-6

    tops = [float(y) for y in re.findall(r'class="box" x="[\d.]+" y="([\d.]+)"', drawing)]
    assert tops == sorted(tops)


def test_the_page_tells_of_every_room():
    """The table has a row for each room, with its purpose."""
    page = house.page()

    for name, room in house.rooms().items():
        assert f"| `{name}` | " in page
        assert room.job, name
