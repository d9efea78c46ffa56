# SPDX-License-Identifier: Apache-2.0
"""Times, durations and binary data are compared by value, in results and in graphs."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.policies.blank_nodes import compare_rows
from kgbench.policies.values import by_value, canonical_form
from kgbench.vocab import XSD


def literal(text: str, name: str) -> str:
    """Return an N-Triples literal of a datatype of XSD."""
    return f'"{text}"^^<{XSD}{name}>'


SAME = [
    ("dateTime", "2020-02-29T23:59:59Z", "2020-03-01T01:29:59+01:30"),
    ("dateTime", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+00:00"),
    ("dateTime", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00-00:00"),
    ("dateTime", "2020-01-01T00:00:00.120", "2020-01-01T00:00:00.12"),
    ("dateTime", "2019-12-31T24:00:00", "2020-01-01T00:00:00.000"),
    ("dateTime", "-0001-12-31T23:00:00-02:00", "0000-01-01T01:00:00Z"),
    ("dateTime", "12020-01-01T00:00:00Z", "12019-12-31T19:00:00-05:00"),
    ("date", "2020-01-01Z", "2020-01-01+00:00"),
    ("date", "2020-01-02+13:00", "2020-01-01-11:00"),
    ("time", "12:00:00Z", "14:00:00.0+02:00"),
    ("time", "24:00:00", "00:00:00"),
    ("gYear", "2020Z", "2020+00:00"),
    ("gYearMonth", "2020-05-00:00", "2020-05Z"),
    ("duration", "P1D", "PT24H"),
    ("duration", "P1Y2M", "P14M"),
    ("duration", "PT1.50S", "PT1.5S"),
    ("duration", "PT0S", "-P0Y"),
    ("dayTimeDuration", "PT90M", "PT1H30M"),
    ("hexBinary", "0aFf", "0AfF"),
    ("base64Binary", "YW Jj", "YWJj"),
]
OTHER = [
    ("dateTime", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00"),
    ("dateTime", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00"),
    ("dateTime", "2020-01-01T00:00:00.1", "2020-01-01T00:00:00.01"),
    ("dateTime", "2020-02-30T00:00:00", "2020-03-01T00:00:00"),
    ("date", "2020-01-01", "2020-01-01Z"),
    ("time", "00:30:00+01:00", "23:30:00Z"),
    ("gYear", "2020", "2020Z"),
    ("duration", "P1M", "P30D"),
    ("duration", "P1D", "-P1D"),
    ("duration", "P", "PT"),
    ("hexBinary", "0g", "0G"),
    ("string", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+00:00"),
]


@pytest.mark.parametrize(("name", "one", "two"), SAME)
def test_equal_values(name, one, two):
    """Two forms of one value are equal in results and in graphs."""
    first, second = literal(one, name), literal(two, name)
    graphs = [{("<urn:a>", "<urn:b>", term)} for term in (first, second)]

    assert by_value(first) == by_value(second)
    assert compare_rows(*graphs).agreement.f1 == 1.0


@pytest.mark.parametrize(("name", "one", "two"), OTHER)
def test_different_values(name, one, two):
    """Without a zone a time is another value; invalid literals are compared as they are written."""
    first, second = literal(one, name), literal(two, name)

    assert by_value(first) != by_value(second)
    assert compare_rows({("<urn:a>", "<urn:b>", first)}, {("<urn:a>", "<urn:b>", second)}).missing


def test_derived_datatypes():
    """Values of a derived datatype are values of the broader one."""
    for broad, narrow, text in (
        ("dateTime", "dateTimeStamp", "2020-01-01T00:00:00Z"),
        ("duration", "dayTimeDuration", "PT5M"),
        ("duration", "yearMonthDuration", "P5M"),
    ):
        assert by_value(literal(text, broad)) == by_value(literal(text, narrow))
    assert by_value(literal("00", "hexBinary")) != by_value(literal("00", "base64Binary"))


@given(st.dates(), st.integers(-14 * 60, 14 * 60))
def test_days_of_the_calendar(day, minutes):
    """Canonical dates agree with Python's calendar in every zone."""
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    noon = canonical_form(f"{day.isoformat()}T12:00:00{zone}", XSD.dateTime)
    shift = 1 if minutes > 12 * 60 else -1 if minutes <= -12 * 60 else 0

    without_zone = f"{day.isoformat()}T12:00:00"
    assert canonical_form(without_zone, XSD.dateTime) == without_zone
    assert noon is not None
    if date.min < day < date.max:
        assert noon[:10] == (day - timedelta(days=shift)).isoformat()


@given(st.from_regex(r"\A-?P?[0-9YMDTHS.:Z+-]{0,40}\Z"))
def test_any_text_is_canonical_once(text):
    """The canonical form of a canonical form is itself."""
    for datatype in (XSD.dateTime, XSD.date, XSD.time, XSD.duration, XSD.hexBinary):
        form = canonical_form(text, datatype)
        assert form is None or canonical_form(form, datatype) == form
