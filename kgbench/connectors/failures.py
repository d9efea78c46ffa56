# SPDX-License-Identifier: Apache-2.0
"""Errors for failures of providers, with messages that contain no secrets."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kgbench.connectors.reply_signs import Meaning
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.net.limits import LONGEST_WAIT
from kgbench.secrets import key_patterns
from kgbench.secrets.detection import HIDDEN, SecretDetector

_YEAR = 365 * 86400.0
_LONGEST = 600  # characters kept of a provider's message


@lru_cache(maxsize=64)
def echoes(secrets: frozenset[str]) -> SecretDetector:
    """Return a finder of ``secrets``, cached for each set of them."""
    return SecretDetector(secrets)


def scrub(message: str, secrets: Iterable[str] = ()) -> str:
    """Return ``message`` on one line, without secrets, credentials, userinfo and queries of URLs.

    >>> scrub("GET https://me:pw@host/v1?key=1: bad key abc", ["abc"])
    'GET https://host/v1: bad key [hidden]'
    """
    message = key_patterns.strip_urls(echoes(frozenset(secrets)).hide(message))
    message = " ".join(key_patterns.hide_keys(message, HIDDEN).split())
    return message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from ``retry-after-ms`` or ``Retry-After`` (RFC 9110, 10.2.3).

    ``Retry-After`` has seconds or an HTTP date, which counts from the ``Date`` of the response: the
    server's clock may differ from ours. Names in ``headers`` must be in lower case. The result is
    never negative, and ``None`` without a usable header.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    until = seconds_of(headers.get("retry-after", ""))
    if until is None:
        return None
    now = seconds_of(headers.get("date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def seconds_of(date: str) -> float | None:
    """Return an HTTP date in seconds since 1970, or ``None`` if ``date`` is none."""
    moment = email.utils.parsedate_tz(date)
    try:
        return None if moment is None else float(email.utils.mktime_tz(moment))
    except (OverflowError, ValueError):
        return None


def of_meaning(
    meaning: Meaning | None,
    message: str,
    *,
    status: int | None = None,
    wait: float | None = None,
) -> ProviderError:
    """Return the error for the declared ``meaning`` of a reply; ``message`` is already scrubbed.

    What nobody declared (``None``) is a failure of the provider, which is retried. ``status`` is
    that of the HTTP response, ``wait`` the result of :func:`retry_after`.
    """
    error = _error(meaning, message, wait)
    error.status = status
    return error


def _error(meaning: Meaning | None, message: str, wait: float | None) -> ProviderError:
    if meaning is Meaning.RATE_LIMITED:
        return _later(message, wait)
    if meaning in (Meaning.REJECTED, Meaning.REFUSED):
        return ProviderRefused(message)
    if meaning is Meaning.CONTEXT_TOO_LONG:
        return ContextTooLong(message)
    if wait is not None:
        return _later(message, wait)
    return ProviderTimeout(message) if meaning is Meaning.TIMEOUT else ProviderError(message)


def _later(message: str, wait: float | None) -> ProviderError:
    if wait is None or wait <= LONGEST_WAIT:
        return RateLimited(message, wait)
    hours = min(wait, _YEAR) / 3600
    return ProviderRefused(
        f"{message} (it asks for a wait of {hours:,.1f} hours, which is too long: run the same "
        f"command again later)"
    )
