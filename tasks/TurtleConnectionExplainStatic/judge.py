# SPDX-License-Identifier: Apache-2.0
"""TurtleConnectionExplainStatic: RdfConnectionExplainStatic of 2023, in Turtle only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgbench.api import Case, Executor, Verdict
from kgbench.families.twins import FirstGeneration


class TurtleConnectionExplainStatic(FirstGeneration):
    """The shortest path through the organisational graph in Turtle."""

    JUDGED_AS = "RdfConnectionExplainStatic"

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge as the later class does, except for the precision of an answer that names nothing.

        It was 0 in version 1.0; cases published with a later version specify another value.
        """
        data = {"precisionOfNoNames": 0.0, **case.data}
        return super().judge(replace(case, data=data), answers, executor)


family: Final = TurtleConnectionExplainStatic(__file__)
