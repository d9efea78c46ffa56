# SPDX-License-Identifier: Apache-2.0
"""Changes of answers that name something: terms or verdicts, one on each line."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.answer_mutants import Operators, exchanged, replaced

_VERDICTS = {"entailed": "contradicted", "contradicted": "unknown", "unknown": "entailed"}


def drop(text: str) -> Iterator[str]:
    """Leave out a term."""
    yield from replaced(text, {r"^.+(?:\n|$)": ("",)})


def widen(text: str) -> Iterator[str]:
    """Name something with a shorter name."""
    yield from replaced(text, {r"[^\W_](?=[>\"]?$)": ("",)})


def narrow(text: str) -> Iterator[str]:
    """Name something with a longer name."""
    yield from replaced(text, {r"(?<=[^\W_])(?=[>\"]?$)": ("x", "1")})


def swap(text: str) -> Iterator[str]:
    """Name another thing instead: the next one, one of another name, or the next verdict."""
    if text.strip() in _VERDICTS:
        yield _VERDICTS[text.strip()]
        return
    yield from exchanged(text, r"^.+$")
    yield from replaced(text, {r"[^\W_](?=[>\"]?$)": ("x", "1", "z")})


def add(text: str) -> Iterator[str]:
    """Name something more."""
    for line in text.splitlines():
        if line in _VERDICTS:
            yield f"{text}\n{_VERDICTS[line]}"
        else:
            yield from (f"{text}\n{other}" for other in narrow(line))


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
