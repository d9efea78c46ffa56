# SPDX-License-Identifier: Apache-2.0
"""The drawing of the house: every room, every import, and arrows only downwards."""

import re
from itertools import pairwise

import pytest

from docs.reference_pages import house, house_drawing

PLAN = house_drawing.planned()


def test_every_room_is_drawn_with_its_lines():
    """A box says the name of a room and how many lines its modules have."""
    boxes = re.findall(
        r'class="name"[^>]*>([^<]+)</text><text class="lines"[^>]*>([\d,]+) lines',
        house_drawing.house(),
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
    """What follows from two arrows is not drawn as a third."""
    arrows = set(house.arrows())

    assert "store" in house.imports()["engine"]
    assert ("engine", "store") not in arrows


@pytest.mark.parametrize("arrow", house.arrows(), ids=" ".join)
def test_each_arrow_goes_down_from_room_to_room(arrow):
    """The way from a room to what it imports goes down layer by layer, over bends alone."""
    ends = {(node.layer, node.room) for layer in PLAN.layers for node in layer if not node.bend}
    places = {room: layer for layer, room in ends}
    start, goal = arrow
    node = house_drawing.Node(places[start], start)
    while node.layer + 1 < places[goal]:
        bend = house_drawing.Node(node.layer + 1, goal, bend=True)
        assert (node, bend) in PLAN.lines
        node = bend

    assert (node, house_drawing.Node(places[goal], goal)) in PLAN.lines


def test_nothing_overlaps():
    """Boxes and bends of a layer stand beside each other, and below the floor above."""
    across = house_drawing.positions(PLAN)
    for layer in PLAN.layers:
        for one, other in pairwise(layer):
            assert across[other] - across[one] >= (one.width + other.width) / 2 - 1e-6

    drawn = house_drawing.house()
    tops = [float(y) for y in re.findall(r'class="box" x="[\d.]+" y="([\d.]+)"', drawn)]
    assert tops == sorted(tops)


def test_the_page_tells_of_every_room():
    """The table has a row for each room, with what it is for."""
    page = house.page()

    for name, room in house.rooms().items():
        assert f"| `{name}` | " in page
        assert room.job, name
