# SPDX-License-Identifier: Apache-2.0
"""Errors for failures of providers, with messages that contain no secrets."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache

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

# How OpenAI, vLLM, llama.cpp, Anthropic and Google say that a conversation is too long.
_TOO_LONG = re.compile(
    r"(?i)context[ _-]?(?:length|window|size)|maximum (?:context|model|prompt) length|max_model_len"
    r"|prompt is too long|input (?:token count|is too long)|reduce the length"
)
_EXHAUSTED = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")


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


def bare(status: int, message: str) -> str:
    """Remove the words that SDKs put before a response body without a message of its own.

    >>> bare(404, "Error code: 404 - {'detail': 'Not Found'}")
    "{'detail': 'Not Found'}"
    """
    return message.removeprefix(f"Error code: {status}").removeprefix(" - ") or "no message"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from ``retry-after-ms`` or ``Retry-After`` (RFC 9110, 10.2.3).

    ``Retry-After`` has seconds or an HTTP date. Names in ``headers`` must be in lower case. The
    result is never negative, and ``None`` without a usable header.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    moment = email.utils.parsedate_tz(headers.get("retry-after", ""))
    try:
        return None if moment is None else max(0.0, email.utils.mktime_tz(moment) - time.time())
    except (OverflowError, ValueError):
        return None


def of_status(
    status: int,
    message: str,
    *,
    code: str | None = None,
    wait: float | None = None,
) -> ProviderError:
    """Return the error for an HTTP ``status`` of 400 or above; ``message`` is already scrubbed.

    ``code`` is the provider's own error code, if it sends one; ``wait`` is the result of
    :func:`retry_after`.
    """
    error = _error(status, message, code, wait)
    error.status = status
    return error


def _error(status: int, message: str, code: str | None, wait: float | None) -> ProviderError:
    if status == 413 or (status in (400, 422) and is_too_long(code, message)):  # noqa: PLR2004
        return ContextTooLong(message)
    if status == 429 and code in _EXHAUSTED:  # noqa: PLR2004
        return ProviderRefused(message)
    if status == 429 or (status >= 500 and wait is not None):  # noqa: PLR2004
        return _later(message, wait)
    if status in (408, 504):
        return ProviderTimeout(message)
    if status in (409, 425) or status >= 500:  # noqa: PLR2004
        return ProviderError(message)
    return ProviderRefused(message)


def _later(message: str, wait: float | None) -> ProviderError:
    if wait is None or wait <= LONGEST_WAIT:
        return RateLimited(message, wait)
    hours = min(wait, _YEAR) / 3600
    return ProviderRefused(
        f"{message} (it asks for a wait of {hours:,.1f} hours, which is too long: run the same "
        f"command again later)"
    )


def is_too_long(code: str | None, message: str) -> bool:
    """Return whether an error's ``code`` or ``message`` says that the conversation is too long."""
    return code == "context_length_exceeded" or _TOO_LONG.search(message) is not None
