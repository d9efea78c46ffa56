# SPDX-License-Identifier: Apache-2.0
"""Well-formedness and comparison of literals."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyoxigraph as ox

from kgbench.vocab import RDF, XSD

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_DOUBLE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN")
_ZONE = r"(Z|[+-]\d{2}:\d{2})?"
_DATE = re.compile(r"-?\d{4,}-\d{2}-\d{2}" + _ZONE)
_DATETIME = re.compile(r"-?\d{4,}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?" + _ZONE)
_DURATION = re.compile(r"-?P(?=.)(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")
# The least and the greatest value of each datatype derived from integers.
_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    XSD.integer: (None, None),
    XSD.nonNegativeInteger: (0, None),
    XSD.positiveInteger: (1, None),
    XSD.nonPositiveInteger: (None, 0),
    XSD.negativeInteger: (None, -1),
    XSD.long: (-(1 << 63), (1 << 63) - 1),
    XSD.int: (-(1 << 31), (1 << 31) - 1),
    XSD.short: (-(1 << 15), (1 << 15) - 1),
    XSD.byte: (-(1 << 7), (1 << 7) - 1),
    XSD.unsignedLong: (0, (1 << 64) - 1),
    XSD.unsignedInt: (0, (1 << 32) - 1),
    XSD.unsignedShort: (0, (1 << 16) - 1),
    XSD.unsignedByte: (0, (1 << 8) - 1),
}


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _is_integer(least: int | None, most: int | None) -> Callable[[str], bool]:
    if least is None and most is None:
        return _matches(_INTEGER)

    def holds(text: str) -> bool:
        if _INTEGER.fullmatch(text) is None:
            return False
        value = Decimal(text)  # of any length, which int() does not read
        return (least is None or value >= least) and (most is None or value <= most)

    return holds


def _is_moment(text: str) -> bool:
    return _DATETIME.fullmatch(text) is not None and _moment(text) is not None


def _is_day(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _day(text) is not None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


_FORMS: dict[str, Callable[[str], bool]] = {
    **{datatype: _is_integer(*bounds) for datatype, bounds in _INTEGERS.items()},
    XSD.decimal: _matches(_DECIMAL),
    XSD.double: _matches(_DOUBLE),
    XSD.float: _matches(_DOUBLE),
    XSD.boolean: _matches(re.compile("true|false|1|0")),
    XSD.dateTime: _is_moment,
    XSD.date: _is_day,
    XSD.time: _matches(re.compile(r"\d{2}:\d{2}:\d{2}(\.\d+)?" + _ZONE)),
    XSD.gYear: _matches(re.compile(r"-?\d{4,}" + _ZONE)),
    XSD.gYearMonth: _matches(re.compile(r"-?\d{4,}-\d{2}" + _ZONE)),
    XSD.gMonth: _matches(re.compile(r"--\d{2}" + _ZONE)),
    XSD.gMonthDay: _matches(re.compile(r"--\d{2}-\d{2}" + _ZONE)),
    XSD.gDay: _matches(re.compile(r"---\d{2}" + _ZONE)),
    XSD.duration: _matches(_DURATION),
    XSD.base64Binary: _is_base64,
    XSD.hexBinary: _matches(re.compile("([0-9a-fA-F]{2})*")),
    RDF.JSON: _is_json,
}


def is_well_formed(literal: ox.Literal) -> bool:
    """Return whether a literal has a valid lexical form; unknown datatypes accept any."""
    form = _FORMS.get(literal.datatype.value)
    return form is None or form(literal.value)


def is_before_or_same(first: Any, second: Any) -> bool:
    """Return whether ``first <= second``; false if they cannot be compared."""
    before, after = comparable(first), comparable(second)
    if before is None or after is None:
        return False
    try:
        return bool(before <= after)
    except TypeError:
        return False


def comparable(term: Any) -> Any:
    """Return a Python value that compares like a literal; ``None`` if there is none, as for NaN."""
    if not isinstance(term, ox.Literal) or not is_well_formed(term):
        return None
    read = _ORDERED.get(term.datatype.value)
    return None if read is None else read(term.value)


def _exact(text: str) -> Fraction:
    return Fraction(Decimal(text))


def _double(text: str) -> Fraction | float | None:
    """Return the exact value of a double, so that it compares with integers of any size."""
    number = float(text.replace("INF", "inf"))
    if math.isnan(number):
        return None
    return Fraction(number) if math.isfinite(number) else number


def _moment(text: str) -> datetime | None:
    """Parse a timestamp; digits beyond microseconds are ignored."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _truth(text: str) -> tuple[bool]:
    """Return a value that compares with truth values only, although Python's are numbers."""
    return (text in ("true", "1"),)


_ORDERED: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys((*_INTEGERS, XSD.decimal), _exact),
    XSD.double: _double,
    XSD.float: _double,
    XSD.boolean: _truth,
    XSD.dateTime: _moment,
    XSD.date: _day,
    XSD.string: str,
}
