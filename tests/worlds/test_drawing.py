# SPDX-License-Identifier: Apache-2.0
"""Drawing again until something is sound and new."""

import pytest

from kgbench.errors import TaskError
from kgbench.worlds.generator import LevelSheet, Sheet, World, first_drawn


class Digits(Sheet[int]):
    """The last digits of square numbers; odd ones are not sound."""

    TRIES = 7

    def __init__(self):
        super().__init__()
        self.last = 0

    def _drawn(self):
        self.last += 1
        digit = self.last**2 % 10
        return None if digit % 2 else digit

    def _key(self, drawn):
        return drawn

    def _too_small(self, number):
        return f"only {number} digits"


def test_a_sheet_has_different_things_in_the_order_of_drawing():
    """The number decides, not the order of access; the last thing is followed by an error."""
    sheet = Digits()

    assert [sheet[2], sheet[0], sheet[1], sheet[2]] == [0, 4, 6, 0]
    with pytest.raises(TaskError, match="only 3 digits"):
        sheet[3]


def test_the_first_success_counts():
    """As many attempts are made as are allowed."""
    assert first_drawn(lambda attempt: "x" * attempt if attempt > 1 else None, 3, "words") == "xx"
    with pytest.raises(TaskError, match="no words were found in 2 attempts"):
        first_drawn(lambda attempt: attempt if attempt > 1 else None, 2, "words")


def test_a_sheet_of_a_level_names_the_world_that_is_too_small():
    """The error says of which world and level there are not so many things."""

    class Coins(LevelSheet[int]):
        THINGS, VERSION, TRIES = "coins", 1, 20

        def _drawn(self):
            return self._chance.between(1, 2)

        def _key(self, drawn):
            return drawn

    sheet = Coins(World("a", 60), 3)
    with pytest.raises(TaskError, match=r"of 60 instances .* more than 2 coins of level 3"):
        sheet[2]
    assert sheet[0] != sheet[1]
