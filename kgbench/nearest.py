# SPDX-License-Identifier: Apache-2.0
"""What a name that is unknown may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_NAMED = 12  # names that one message lists at most


def nearest(name: str, among: Iterable[str]) -> str:
    """A phrase that names the entries of ``among`` nearest to ``name``, or all if none is near.

    >>> nearest("oracel", ["oracle", "noisy"])
    'did you mean oracle?'
    """
    options = sorted(among)
    close = get_close_matches(name, options, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    more = f" and {len(options) - _NAMED} more" if options[_NAMED:] else ""
    return f"known are {', '.join(options[:_NAMED])}{more}" if options else "there are none"
