# SPDX-License-Identifier: Apache-2.0
"""Queries that misread a bound or a number of different things, for all families of questions.

A question is drawn again unless each of these queries has another result than the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_INCLUSIVE: Final = re.compile(r"([<>])=(?= )")
_BOUND: Final = re.compile(r'(\?\w+) ([<>]=) (?:"(\d{4})-\d\d-\d\d"\^\^xsd:date|(\d[\d.]*))')
_NAMED: Final = re.compile(r'(?<=/rdfs:label )"[^"]*"')
_BOUNDED: Final = re.compile(r"FILTER\(\?\w+ [<>]= [^()]*\)")
# Not in HAVING: the values of one property of one thing differ anyway.
_DIFFERENT: Final = re.compile(r"COUNT\(DISTINCT (\?\w+)\)(?= AS)")


def exclusive(pattern: str) -> Iterator[str]:
    """Yield a pattern with each inclusive bound exclusive."""
    for match in _INCLUSIVE.finditer(pattern):
        yield _replaced(pattern, match, match[1])


def from_the_other_side(pattern: str) -> Iterator[str]:
    """Yield a pattern with each lower bound an upper one, and the other way round."""
    for match in _INCLUSIVE.finditer(pattern):
        yield _replaced(pattern, match, ">=" if match[1] == "<" else "<=")


def of_another_type(pattern: str) -> Iterator[str]:
    """Yield a pattern with each bound of a date by its year, and of a number by its text."""
    for match in _BOUND.finditer(pattern):
        variable, sign, year, number = match.groups()
        text = f"YEAR({variable}) {sign} {year}" if year else f'STR({variable}) {sign} "{number}"'
        yield _replaced(pattern, match, text)


def of_any_value(pattern: str) -> Iterator[str]:
    """Yield a pattern with each name of a thing and each bound replaced by any value."""
    for match in _NAMED.finditer(pattern):
        yield _replaced(pattern, match, "?any")
    for match in _BOUNDED.finditer(pattern):
        yield _replaced(pattern, match, "")


def of_counts(query: str) -> Iterator[str]:
    """Yield a query that counts the same thing as often as it occurs."""
    for match in _DIFFERENT.finditer(query):
        yield _replaced(query, match, f"COUNT({match[1]})")


def _replaced(text: str, match: re.Match[str], by: str) -> str:
    return f"{text[: match.start()]}{by}{text[match.end() :]}"
