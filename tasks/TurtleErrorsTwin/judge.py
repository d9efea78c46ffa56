# SPDX-License-Identifier: Apache-2.0
"""TurtleErrorsTwin: TurtleErrorsStatic with renamed documents."""

from __future__ import annotations

from typing import Final

from kgbench.families.twins import TwinDocuments


class TurtleErrorsTwin(TwinDocuments):
    """Twins of the documents of TurtleErrorsStatic."""

    JUDGED_AS = "TurtleErrorsStatic"


family: Final = TurtleErrorsTwin(__file__)
