# SPDX-License-Identifier: Apache-2.0
"""Formatting of recorded times."""

from __future__ import annotations

from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def day(recorded: str | None) -> str:
    """Format the day of a recorded time (``xsd:dateTime``); invalid times are returned unchanged.

    >>> day("2024-12-19T06:29:39.034515")
    '19 Dec 2024'
    """
    time = _read(recorded)
    return recorded or "" if time is None else f"{time.day} {_MONTHS[time.month - 1]} {time:%Y}"


def moment(recorded: str | None) -> str:
    """Format a recorded time (``xsd:dateTime``) to the minute, in UTC if it has a zone.

    >>> moment("2026-11-22T19:43:33.07+01:00")
    '22 Nov 2026, 18:43 UTC'
    >>> moment("2024-12-19T06:29:39.034515")
    '19 Dec 2024, 06:29'
    """
    time = _read(recorded)
    if time is None:
        return recorded or ""
    return f"{day(time.isoformat())}, {time:%H:%M}" + (" UTC" if time.tzinfo else "")


def machine_time(recorded: str | None) -> str:
    """Format a recorded time for the attribute ``datetime``, which allows three decimals.

    The result is empty for invalid times, so that the attribute can be left out.

    >>> machine_time("2024-12-19T06:29:39.034515")
    '2024-12-19T06:29:39.034'
    >>> machine_time("2026-11-22T19:43:33+01:00")
    '2026-11-22T18:43:33+00:00'
    """
    time = _read(recorded)
    if time is None:
        return ""
    return time.isoformat(timespec="milliseconds" if time.microsecond else "seconds")


def seconds_between(begin: str | None, end: str | None) -> float | None:
    """Return the seconds between two recorded times; ``None`` if they cannot be compared."""
    first, last = _read(begin), _read(end)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
        return None
    return max((last - first).total_seconds(), 0.0)


def _read(recorded: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(recorded or "")
        return time if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
