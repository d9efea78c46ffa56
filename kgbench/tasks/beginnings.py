# SPDX-License-Identifier: Apache-2.0
"""What a new task class can begin as (``kgbench tasks new``)."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """How often a model is asked: once, or again with feedback."""

    ANSWER = "answer"
    DIALOGUE = "dialogue"


class Answers(StrEnum):
    """What a model answers with: lines of text, or a graph in Turtle."""

    TEXT = "text"
    GRAPH = "graph"
