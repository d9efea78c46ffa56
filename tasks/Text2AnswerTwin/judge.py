# SPDX-License-Identifier: Apache-2.0
"""Text2AnswerTwin: Text2AnswerListOrganizational about the renamed organisational graph."""

from __future__ import annotations

from typing import Final

from kgbench.api import TwinFamily
from kgbench.families.twins import DelegatingFamily


class Text2AnswerTwin(DelegatingFamily, TwinFamily):
    """Twins of the questions of Text2AnswerListOrganizational."""

    JUDGED_AS = "Text2AnswerListOrganizational"


family: Final = Text2AnswerTwin(__file__)
