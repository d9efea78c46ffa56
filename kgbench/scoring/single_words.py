# SPDX-License-Identifier: Apache-2.0
"""Answers that are to be one of a few words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_NEGATION = r"(?:\b(?:not|neither|nor|never|cannot)|n['\u2019]t)\s+(?:be(?:en)?\s+|[a-z]+ly\s+)*"


def read_word(answer: str, words: Iterable[str]) -> str | None:
    """Return the one of ``words`` (in lower case) that an answer has; ``None`` if it is not one.

    It may have the word more than once, in any case and with other text around it. Words after a
    negation do not count.

    >>> read_word("**Unknown**: it is neither true nor false.", ["true", "false", "unknown"])
    'unknown'
    >>> read_word("not true", ["true", "false"])
    """
    text = " ".join(answer.lower().split())
    found = {match[2] for match in _pattern(tuple(words)).finditer(text) if not match[1]}
    return found.pop() if len(found) == 1 else None


@lru_cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    # An underscore belongs to a word for \b, but is emphasis in Markdown.
    choice = "|".join(map(re.escape, words))
    return re.compile(rf"({_NEGATION}[*_`\"“]*)?(?<![^\W_])({choice})(?![^\W_])")
