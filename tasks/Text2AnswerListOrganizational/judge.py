# SPDX-License-Identifier: Apache-2.0
"""Text2AnswerListOrganizational: give the values that a question asks for."""

from __future__ import annotations

from typing import Final

from kgbench.families.answer_list import AnswerListFamily


class Text2AnswerListOrganizational(AnswerListFamily):
    """Questions about the organisational graph; the prompt shows a question."""

    asked = "question"


family: Final = Text2AnswerListOrganizational(__file__)
