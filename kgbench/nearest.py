# SPDX-License-Identifier: Apache-2.0
"""What a name that is unknown may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_NAMED = 12  # names that one message lists at most


def close(name: str, among: Iterable[str]) -> str | None:
    """A phrase that names the entries of ``among`` nearest to ``name``; ``None`` if none is near.

    >>> close("oracel", ["oracle", "noisy"])
    'did you mean oracle?'
    """
    found = get_close_matches(name, sorted(among), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(found)}?" if found else None


def nearest(name: str, among: Iterable[str]) -> str:
    """A phrase that names the entries of ``among`` nearest to ``name``, or all if none is near.

    >>> nearest("x", ["oracle", "noisy"])
    'known are noisy, oracle'
    """
    options = sorted(among)
    if (found := close(name, options)) is not None:
        return found
    more = f" and {len(options) - _NAMED} more" if options[_NAMED:] else ""
    return f"known are {', '.join(options[:_NAMED])}{more}" if options else "there are none"
