# SPDX-License-Identifier: Apache-2.0
"""SpinachQuestions: questions of SPINACH, with the recorded results of both queries."""

from __future__ import annotations

from typing import Final

from kgbench.plugins.challenges.questions import RecordedQuestions


class SpinachQuestions(RecordedQuestions):
    """Questions about Wikidata."""

    policy = "spinach"


family: Final = SpinachQuestions(__file__)
