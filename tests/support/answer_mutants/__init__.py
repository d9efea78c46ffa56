# SPDX-License-Identifier: Apache-2.0
"""Small changes of right answers, by the language of the answer and not by the family.

Each module has a function for each kind of change: drop a part, widen or narrow what it admits,
swap it for another, add one. It yields changed texts for a text in the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

Operators = Mapping[str, Callable[[str], Iterator[str]]]
Changes = Mapping[str, tuple[str, ...]]


def replaced(text: str, changes: Changes) -> Iterator[str]:
    """Yield the text with each match of each pattern replaced by each of its replacements."""
    for pattern, others in changes.items():
        for match in re.finditer(pattern, text, flags=re.MULTILINE):
            for other in others:
                changed = f"{text[: match.start()]}{match.expand(other)}{text[match.end() :]}"
                if changed != text:
                    yield changed


def moved(text: str, pattern: str, by: int, group: int = 1) -> Iterator[str]:
    """Yield the text with a number in each match of a pattern moved."""
    for match in re.finditer(pattern, text):
        number = int(match[group]) + by
        if number >= 0:
            yield f"{text[: match.start(group)]}{number}{text[match.end(group) :]}"


def exchanged(text: str, pattern: str) -> Iterator[str]:
    """Yield the text with each match of a pattern replaced by the next other one, in a circle."""
    found = list(dict.fromkeys(match[0] for match in re.finditer(pattern, text)))
    for match in re.finditer(pattern, text):
        other = found[(found.index(match[0]) + 1) % len(found)]
        if other != match[0]:
            yield f"{text[: match.start()]}{other}{text[match.end() :]}"
