# SPDX-License-Identifier: Apache-2.0
"""Answers that are JSON objects in the first fenced block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import texts

FOLDER: Final = "json-ld-answers"


class JsonAnswer(NamedTuple):
    """The JSON object in an answer, or ``None`` and the ``error``.

    ``text`` is ``None`` if the answer has no fenced block.
    """

    text: str | None
    document: Mapping[str, Any] | None
    error: str | None


def read(answer: str) -> JsonAnswer:
    """Read the JSON object in the first fenced block of an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return JsonAnswer(None, None, "there is no fenced block in the answer")
    text = blocks[0].body
    try:
        document = json.loads(text)
    except ValueError as error:
        return JsonAnswer(text, None, f"this is no JSON: {error}")
    except RecursionError:
        return JsonAnswer(text, None, "this is no JSON: it is nested too deeply")
    if not isinstance(document, dict):
        return JsonAnswer(text, None, "this is no JSON object")
    return JsonAnswer(text, document, None)


def feedback(answer: JsonAnswer, error: str) -> tuple[str, str]:
    """Return the feedback on an answer that is unusable because of ``error``, and its kind."""
    if answer.text is None:
        return texts.shared(FOLDER, "feedback-no-block.txt"), "format"
    return texts.shared_filled(FOLDER, "feedback-error.txt", message=error), "syntax"
