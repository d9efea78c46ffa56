# SPDX-License-Identifier: Apache-2.0
"""RDF terms in N-Triples syntax, and a key for the value of each, by the form of a policy.

Times, durations and binary data have canonical forms by the value spaces of XSD 1.1, part 2: two
have the same value if a time zone is written in another way (``Z``, ``+00:00``) or the same instant
is given in another zone, if fractions of seconds have further zeros, if an hour 24 is the hour 0 of
the next day, if a duration is written with other units, and if digits of ``hexBinary`` have another
case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Final, NamedTuple

from kgbench.scoring.result_sets import shorten_iri
from kgbench.vocab import XSD

Key = Callable[[str], str]

_DIGITS: Final = 10  # significant digits compared: means of engines differ after the fifteenth
_LARGEST: Final = 400  # a power of ten beyond all doubles: huge exponents would fill the memory
NUMERIC: Final = frozenset(
    f"{XSD}{name}"
    for name in (
        "integer",
        "decimal",
        "double",
        "float",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
        "unsignedByte",
    )
)
_LITERAL: Final = re.compile(
    r'"((?:[^"\\]|\\.)*+)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?\Z', re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


class Term(NamedTuple):
    """An RDF term: ``kind`` is ``uri``, ``bnode``, ``literal`` or ``triple``, as in SPARQL-JSON.

    The ``value`` of a triple term is the whole term.
    """

    kind: str
    value: str
    language: str | None = None
    datatype: str | None = None


def parse_term(term: str) -> Term:
    """Parse an N-Triples term; text that is neither IRI nor literal is a blank node's label.

    >>> parse_term('"1"^^<http://e.org/i>')
    Term(kind='literal', value='1', language=None, datatype='http://e.org/i')
    >>> parse_term("<http://e.org/a>").kind, parse_term("_:b0").value
    ('uri', 'b0')
    """
    if term.startswith("<<("):
        return Term("triple", term)
    if term.startswith("<") and not term.startswith("<<"):
        return Term("uri", term[1:-1])
    literal = _LITERAL.match(term)
    if literal is None:
        return Term("bnode", term.removeprefix("_:"))
    value, language, datatype = literal.groups()
    return Term("literal", _ESCAPE.sub(_character, value), language, datatype)


def format_term(term: Term) -> str:
    """Return ``term`` as N-Triples writes it; :func:`parse_term` reverses it."""
    if term.kind == "triple":
        return term.value
    if term.kind == "uri":
        return f"<{term.value}>"
    if term.kind == "bnode":
        return f"_:{term.value}"
    quoted = f'"{term.value.translate(_ESCAPES)}"'
    if term.language is not None:
        return f"{quoted}@{term.language}"
    return quoted if term.datatype is None else f"{quoted}^^<{term.datatype}>"


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _CHARACTERS.get(match[3], match[3])


def key(form: str, prefixes: Mapping[str, str]) -> Key:
    """Return the function from N-Triples terms to keys; equal values have equal keys.

    ``form`` is one of :data:`FORMS`; only forms that shorten IRIs use ``prefixes``.
    """
    return partial(prefixed, prefixes=prefixes) if form == "prefixed" else FORMS[form]


def lexical(term: str) -> str:
    """Return the lexical form only: an IRI and a literal with the same text are the same value."""
    return parse_term(term).value


def prefixed(term: str, prefixes: Mapping[str, str] | None = None) -> str:
    """Return an IRI shortened by a prefix if one fits, or a literal's lexical form.

    An IRI that no prefix fits is in angle brackets.
    """
    parsed = parse_term(term)
    if parsed.kind == "uri":
        return shorten_iri(parsed.value, prefixes or {})
    return parsed.value if parsed.kind == "literal" else term


def whole(term: str) -> str:
    """Return the whole term, with datatype and language; ``xsd:string`` counts as no datatype."""
    return term.removesuffix(f"^^<{XSD.string}>")


def by_value(term: str) -> str:
    """Return a key by a value (of numbers, times, binary data), a text's characters, or the term.

    Numbers of all numeric datatypes are compared with ten digits, times as
    :func:`canonical_form` says. The language of a text is ignored. Labels of
    blank nodes have no meaning outside their result, so all blank nodes are equal.

    >>> one = by_value(f'"1"^^<{XSD.integer}>')
    >>> one == by_value(f'"1.0"^^<{XSD.double}>'), one == by_value('"1"')
    (True, False)
    >>> noon = by_value(f'"2020-01-01T12:00:00Z"^^<{XSD.dateTime}>')
    >>> noon == by_value(f'"2020-01-01T13:00:00.0+01:00"^^<{XSD.dateTime}>')
    True
    """
    parsed = parse_term(term)
    if parsed.kind != "literal":
        return "blank" if parsed.kind == "bnode" else term
    if parsed.datatype in NUMERIC:
        return f"number {_number(parsed.value)}"
    if parsed.datatype is None or parsed.datatype == XSD.string:
        return f"text {parsed.value}"
    if parsed.datatype == XSD.boolean:
        return f"boolean {({'1': 'true', '0': 'false'}).get(parsed.value, parsed.value)}"
    if (text := canonical_form(parsed.value, parsed.datatype)) is not None:
        return f"{datatype_of_value(parsed.datatype)} {text}"
    return term


def with_canonical_time(term: str) -> str:
    """Return ``term``, a literal of a time or of binary data in its canonical form.

    Graphs are compared with such terms; their other values are compared as they are written.
    """
    if not has_forms(term[term.rfind("^^<") + 3 : -1]):
        return term
    parsed = parse_term(term)
    text = canonical_form(parsed.value, parsed.datatype)
    return term if text is None else format_term(parsed._replace(value=text))


FORMS: Final[Mapping[str, Key]] = {
    "lexical": lexical,
    "prefixed": prefixed,
    "whole": whole,
    "by-value": by_value,
}
"""The key functions of values, by the word that policies use."""


def _number(text: str) -> str:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return text
    if not value.is_finite() or not -_LARGEST < value.adjusted() < _LARGEST:
        return str(value)
    rounded = Decimal(f"{value:.{_DIGITS - 1}e}")
    if value == value.to_integral_value() and value.adjusted() >= _DIGITS:
        return str(int(value))
    return format(rounded.normalize() + 0, "f")


_ZONE: Final = r"(Z|[+-]\d\d:\d\d)?"
_CLOCK: Final = r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?"
_DATE: Final = r"(-?\d{4,9})-(\d\d)-(\d\d)"  # more digits of a year are compared as text
_DATE_TIME: Final = re.compile(rf"{_DATE}T{_CLOCK}{_ZONE}", re.ASCII)
_DATES: Final = re.compile(rf"{_DATE}{_ZONE}", re.ASCII)
_TIME: Final = re.compile(rf"{_CLOCK}{_ZONE}", re.ASCII)
_DURATION: Final = re.compile(
    r"(-)?P(?=.)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})D)?"
    r"(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d+))?S)?)?",
    re.ASCII,
)
_ZERO_ZONE: Final = re.compile(r"[+-]00:00\Z")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_DAY: Final = 86_400


def canonical_form(text: str, datatype: str | None) -> str | None:
    """Return the canonical form of a literal; ``None`` for other datatypes and invalid texts.

    >>> canonical_form("2020-01-01T01:30:00.50+02:00", XSD.dateTime)
    '2019-12-31T23:30:00.5Z'
    >>> canonical_form("PT36H", XSD.duration), canonical_form("-P0M", XSD.duration)
    ('P1DT12H', 'PT0S')
    """
    write = _FORMS.get(datatype or "")
    return None if write is None else write(text.strip(" \t\r\n"))


def has_forms(datatype: str) -> bool:
    """Return whether literals of ``datatype`` have canonical forms."""
    return datatype in _FORMS


def datatype_of_value(datatype: str) -> str:
    """Return the datatype in whose value space the values of ``datatype`` are compared."""
    return _BROADER.get(datatype, datatype)


def _date_time(text: str) -> str | None:
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, zone = _fraction(match[7]), match[8]
    if not _is_date(year, month, day) or not _is_clock(hour, minute, second, fraction):
        return None
    seconds = _days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - _offset(zone)
    days, rest = divmod(seconds, _DAY)
    return f"{_date_text(days)}T{_clock_text(rest)}{fraction}{'Z' if zone else ''}"


def _date(text: str) -> str | None:
    """Write a date; one with a zone is the instant at which it begins (XSD 1.1, D.2.1)."""
    match = _DATES.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups()[:3])
    if not _is_date(year, month, day):
        return None
    offset = _offset(match[4])
    # The same instants begin dates up to 26 hours apart: the zone nearest to UTC is canonical.
    days, rest = divmod(_days(year, month, day) * _DAY - offset, _DAY)
    if rest > _DAY // 2:
        days, rest = days + 1, rest - _DAY
    sign, minutes = ("-" if rest > 0 else "+"), abs(rest) // 60
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else "Z"
    return f"{_date_text(days)}{zone if match[4] else ''}"


def _time(text: str) -> str | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = map(int, match.groups()[:3])
    fraction, zone = _fraction(match[4]), match[5]
    if not _is_clock(hour, minute, second, fraction):
        return None
    seconds = hour % 24 * 3600 + minute * 60 + second - _offset(zone)
    if 0 <= seconds < _DAY:
        return f"{_clock_text(seconds)}{fraction}{'Z' if zone else ''}"
    # A time in another zone may be of the day before or after, and then has no form in UTC.
    return f"{_clock_text(hour % 24 * 3600 + minute * 60 + second)}{fraction}{zone}"


def _duration(text: str) -> str | None:
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign, years, months, days, hours, minutes, seconds, digits = match.groups("0")
    whole_months = int(years) * 12 + int(months)
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    fraction = _fraction(digits)
    if not (whole_months or whole or fraction):
        return "PT0S"
    units = [(whole_months // 12, "Y"), (whole_months % 12, "M"), (whole // _DAY, "D")]
    of_day = [(whole // 3600 % 24, "H"), (whole // 60 % 60, "M")]
    date = "".join(f"{number}{unit}" for number, unit in units if number)
    time = "".join(f"{number}{unit}" for number, unit in of_day if number)
    if whole % 60 or fraction:
        time += f"{whole % 60}{fraction}S"
    return f"{'-' if sign == '-' else ''}P{date}{f'T{time}' if time else ''}"


def _part_of_date(text: str) -> str:
    return _ZERO_ZONE.sub("Z", text)


def _hex(text: str) -> str | None:
    return text.upper() if _HEX.fullmatch(text) else None


def _base64(text: str) -> str:
    return "".join(text.split())


_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    XSD.dateTime: _date_time,
    XSD.dateTimeStamp: _date_time,
    XSD.date: _date,
    XSD.time: _time,
    **dict.fromkeys((XSD.duration, XSD.dayTimeDuration, XSD.yearMonthDuration), _duration),
    **dict.fromkeys(
        (XSD.gYear, XSD.gYearMonth, XSD.gMonth, XSD.gMonthDay, XSD.gDay), _part_of_date
    ),
    XSD.hexBinary: _hex,
    XSD.base64Binary: _base64,
}
_BROADER: Final[Mapping[str, str]] = {
    XSD.dateTimeStamp: XSD.dateTime,
    XSD.dayTimeDuration: XSD.duration,
    XSD.yearMonthDuration: XSD.duration,
}


def _fraction(digits: str | None) -> str:
    significant = (digits or "").rstrip("0")
    return f".{significant}" if significant else ""


def _offset(zone: str | None) -> int:
    """Return the seconds that a time zone is ahead of UTC."""
    if zone is None or zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[4:]) * 60
    return -seconds if zone[0] == "-" else seconds


def _is_clock(hour: int, minute: int, second: int, fraction: str) -> bool:
    midnight = hour == 24 and not (minute or second or fraction)  # noqa: PLR2004 - hours of a day
    return midnight or (hour < 24 and minute < 60 and second < 60)  # noqa: PLR2004 - as above


def _is_date(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12 or day < 1:  # noqa: PLR2004 - months of a year
        return False
    following = (year, month + 1) if month < 12 else (year + 1, 1)  # noqa: PLR2004 - as above
    return day <= _days(*following, 1) - _days(year, month, 1)


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 0000-03-01 in the proleptic Gregorian calendar, with a year 0.

    Years begin in March, so that the leap day is their last.
    """
    shifted = year - (month < 3)  # noqa: PLR2004 - March
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + of_year


def _date_text(days: int) -> str:
    """Return the date of a number of days; the inverse of :func:`_days`."""
    era, of_era = divmod(days, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted_month = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted_month + 2) // 5 + 1
    month = (shifted_month + 2) % 12 + 1
    year += era * 400 + (month < 3)  # noqa: PLR2004 - March
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"


def _clock_text(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
