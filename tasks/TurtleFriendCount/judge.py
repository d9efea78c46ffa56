# SPDX-License-Identifier: Apache-2.0
"""TurtleFriendCount: RdfFriendCount of 2023, in Turtle only."""

from __future__ import annotations

from random import Random
from typing import Final

from kgbench.api import Case
from kgbench.families.twins import FirstGeneration


class TurtleFriendCount(FirstGeneration):
    """Graphs of persons in Turtle, in which one person is known by more than all others."""

    JUDGED_AS = "RdfFriendCount"

    def guess(self, case: Case, chance: Random) -> str:
        """Return one of the persons at random."""
        return str(self.other.guess(case, chance))

    def chance_level(self, case: Case) -> float:
        """Return the mean of the main metric over guesses."""
        return float(self.other.chance_level(case))


family: Final = TurtleFriendCount(__file__)
