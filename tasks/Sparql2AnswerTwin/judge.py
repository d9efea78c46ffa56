# SPDX-License-Identifier: Apache-2.0
"""Sparql2AnswerTwin: Sparql2AnswerListOrganizational about the renamed organisational graph."""

from __future__ import annotations

from typing import Final

from kgbench.api import TwinFamily
from kgbench.families.twins import DelegatingFamily


class Sparql2AnswerTwin(DelegatingFamily, TwinFamily):
    """Twins of the questions of Sparql2AnswerListOrganizational."""

    JUDGED_AS = "Sparql2AnswerListOrganizational"


family: Final = Sparql2AnswerTwin(__file__)
