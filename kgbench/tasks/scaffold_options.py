# SPDX-License-Identifier: Apache-2.0
"""The variants of a new task class (``kgbench tasks new``)."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The number of prompts: one, or further ones with feedback."""

    ANSWER = "answer"
    DIALOGUE = "dialogue"


class Answers(StrEnum):
    """The form of answers: lines of text, or a graph in Turtle."""

    TEXT = "text"
    GRAPH = "graph"
