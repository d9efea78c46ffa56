# SPDX-License-Identifier: Apache-2.0
"""JSON objects that answers consist of: the first fenced block, read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import texts

FOLDER: Final = "json-ld-answers"


class Read(NamedTuple):
    """The JSON object in an answer (``None``: there is none, and ``error`` says why).

    ``text`` is ``None`` where the answer has no fenced block.
    """

    text: str | None
    document: Mapping[str, Any] | None
    error: str | None


def read(answer: str) -> Read:
    """Read the JSON object in the first fenced block of an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return Read(None, None, "there is no fenced block in the answer")
    text = blocks[0].body
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Read(text, None, f"this is no JSON: {error}")
    if not isinstance(found, dict):
        return Read(text, None, "this is no JSON object")
    return Read(text, found, None)


def feedback(of: Read, error: str) -> tuple[str, str]:
    """The prompt after an answer that cannot be used for the reason ``error``; its kind."""
    if of.text is None:
        return texts.shared(FOLDER, "feedback-no-block.txt"), "format"
    return texts.shared_filled(FOLDER, "feedback-error.txt", message=error), "syntax"


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    for name in ("feedback-no-block.txt", "feedback-error.txt"):
        texts.shared(FOLDER, name)
