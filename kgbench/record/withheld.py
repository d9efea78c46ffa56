# SPDX-License-Identifier: Apache-2.0
"""Texts that were left out of a publication."""

from __future__ import annotations


class Withheld(str):
    """Stands in a dialogue for a text that was left out; its content is what readers show instead.

    >>> isinstance(Withheld("[the text was removed]"), str)
    True
    """

    __slots__ = ()


def disclosed(text: str | None) -> str | None:
    """Return ``text``, or ``None`` if it was left out or is missing."""
    return None if isinstance(text, Withheld) else text


def removed(node: str) -> str:
    """Return the words in place of a text (its IRI) that was removed for publication."""
    return f"[the text was removed; its SHA-256 is {node.rpartition('/')[2]}]"
