# SPDX-License-Identifier: Apache-2.0
"""Content negotiation by the Accept header (RFC 9110, section 12.5.1).

>>> choose("text/csv;q=0.5, application/json", ["text/csv", "application/json"])
'application/json'
>>> choose("text/*", ["application/json", "text/csv"])
'text/csv'
>>> choose("image/png", ["text/csv"]) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 4_096  # characters of the header that are read
_MOST_RANGES = 64


class _Range(NamedTuple):
    kind: str
    subkind: str
    quality: float


def choose(accept: str | None, offered: Sequence[str]) -> str | None:
    """Choose the best of ``offered`` (in order of preference); ``None`` if none is acceptable.

    Without a header, everything is acceptable. At equal quality the more specific media range wins,
    then the server's order. Invalid media ranges are ignored.
    """
    if accept is None or not accept.strip():
        return offered[0]
    return _choose(accept[:LONGEST], tuple(offered))


def _choose(accept: str, offered: tuple[str, ...]) -> str | None:
    ranges = [parsed for part in accept.split(",")[:_MOST_RANGES] if (parsed := _range(part))]
    if not ranges:
        return offered[0]
    best: tuple[float, int, int] = (0.0, 0, 0)
    chosen = None
    for index, media in enumerate(offered):
        quality, precision = _quality(media, ranges)
        if quality > 0 and (quality, precision, -index) > best:
            best = (quality, precision, -index)
            chosen = media
    return chosen


def _range(part: str) -> _Range | None:
    media, *parameters = part.split(";")
    kind, slash, subkind = media.strip().lower().partition("/")
    if not slash or not kind or not subkind or (kind == "*" and subkind != "*"):
        return None
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                quality = float(value.strip())
            except ValueError:
                return None
            if not 0 <= quality <= 1:
                return None
    return _Range(kind, subkind, quality)


def _quality(media: str, ranges: Sequence[_Range]) -> tuple[float, int]:
    """Return the quality of ``media`` by the most specific matching range, and its specificity."""
    kind, _, subkind = media.partition("/")
    quality, precision = 0.0, -1
    for media_range in ranges:
        if media_range.kind not in ("*", kind) or media_range.subkind not in ("*", subkind):
            continue
        specific = (media_range.kind != "*") + (media_range.subkind != "*")
        if specific > precision:
            quality, precision = media_range.quality, specific
    return quality, precision
