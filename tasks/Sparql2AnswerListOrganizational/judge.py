# SPDX-License-Identifier: Apache-2.0
"""Sparql2AnswerListOrganizational: give the values that a query asks for."""

from __future__ import annotations

from typing import Final

from kgbench.families.answer_list import AnswerListFamily


class Sparql2AnswerListOrganizational(AnswerListFamily):
    """Questions about the organisational graph; the prompt shows a query."""

    asked = "refSparql"


family: Final = Sparql2AnswerListOrganizational(__file__)
