# SPDX-License-Identifier: Apache-2.0
"""Suggestions for unknown names in error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_NAMED = 12  # maximal number of names in a message


def closest(name: str, among: Iterable[str], most: int = 3) -> str | None:
    """Return a phrase with up to ``most`` entries of ``among`` close to ``name``, if there are any.

    >>> closest("oracel", ["oracle", "noisy"])
    'did you mean oracle?'
    """
    matches = get_close_matches(name, sorted(among), n=most, cutoff=0.5)
    return f"did you mean {' or '.join(matches)}?" if matches else None


def nearest(name: str, among: Iterable[str]) -> str:
    """Return a phrase with the entries of ``among`` closest to ``name``, or with all if none is.

    >>> nearest("x", ["oracle", "noisy"])
    'known are noisy, oracle'
    """
    options = sorted(among)
    if (phrase := closest(name, options)) is not None:
        return phrase
    more = f" and {len(options) - _NAMED} more" if options[_NAMED:] else ""
    return f"known are {', '.join(options[:_NAMED])}{more}" if options else "there are none"
