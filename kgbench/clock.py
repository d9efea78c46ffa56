# SPDX-License-Identifier: Apache-2.0
"""The times of what is recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Lock

_lock = Lock()
_latest = datetime.min.replace(tzinfo=UTC)


def now() -> datetime:
    """Return the time in UTC, never before one that this process got earlier.

    The clock of a computer is set back at times, often by milliseconds. What began before would
    end before it began, and other stores refuse such data.
    """
    global _latest  # noqa: PLW0603 - the time is that of the whole process
    with _lock:
        _latest = max(_latest, datetime.now(UTC))
        return _latest
