# SPDX-License-Identifier: Apache-2.0
"""Texts that were left out of a publication."""

from __future__ import annotations

from typing import Final


class Withheld(str):
    """Stands in a dialogue for a text that was left out; its content is what readers show instead.

    >>> isinstance(LEFT_OUT, str)
    True
    """

    __slots__ = ()


LEFT_OUT: Final = Withheld("[the text was left out]")


def disclosed(text: str | None) -> str | None:
    """Return ``text``, or ``None`` if it was left out or is missing."""
    return None if isinstance(text, Withheld) else text
