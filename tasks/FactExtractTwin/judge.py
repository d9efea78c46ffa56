# SPDX-License-Identifier: Apache-2.0
"""FactExtractTwin: FactExtractStatic with renamed documents."""

from __future__ import annotations

from typing import Final

from kgbench.families.twins import TwinDocuments


class FactExtractTwin(TwinDocuments):
    """Twins of the documents of FactExtractStatic."""

    JUDGED_AS = "FactExtractStatic"
    kinds = "printer"


family: Final = FactExtractTwin(__file__)
