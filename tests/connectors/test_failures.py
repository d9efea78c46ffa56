# SPDX-License-Identifier: Apache-2.0
"""The classification of a provider's failures, and the removal of secrets from messages."""

from __future__ import annotations

import email.utils
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors import failures
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)

_KEYS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", min_size=12)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("wrong key sk-abcdefghijkl", "wrong key [hidden]"),
        ("wrong key sk-proj-****************wxyz.", "wrong key [hidden]."),
        ("headers: {'Authorization': 'Bearer abc'}", "headers: {'[hidden]}"),
        ("x-api-key: abc def\nhost: h", "[hidden] host: h"),
        ("sent Bearer abc.def-ghi", "sent Bearer [hidden]"),
        ("key AIzaSyA1234567890", "key [hidden]"),
        ("POST http://me:secret@h:80/v1/x?key=abc#f failed", "POST http://h:80/v1/x failed"),
        ("at http://h/v1: no", "at http://h/v1: no"),
        ("a\n\n b\tc", "a b c"),
    ],
)
def test_a_message_is_scrubbed(message: str, expected: str) -> None:
    """Keys in the forms of the providers, headers, and the private parts of URLs are removed."""
    assert expected == failures.scrub(message)


@given(_KEYS, st.text(max_size=40), st.text(max_size=40))
def test_no_key_survives(key: str, before: str, after: str) -> None:
    """A known key is removed from any place in a message."""
    assert key not in failures.scrub(f"{before}{key}{after}", [key])


def test_no_key_hides_nothing() -> None:
    """An empty key changes no message."""
    assert failures.scrub("a message", ["", "key"]) == "a message"


def test_long_messages_are_shortened() -> None:
    """A page of HTML is shortened in an error message."""
    assert len(failures.scrub("word " * 10_000)) <= 600


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 01 Jan 99999 00:00:00 GMT"}, None),
        ({"retry-after": f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds, seconds and dates are read; a past date is zero; invalid text is None."""
    assert seconds == failures.retry_after(headers)


def test_retry_after_can_be_a_date() -> None:
    """An HTTP date, which has whole seconds, is a delay from now."""
    began = time.time()
    wait = failures.retry_after({"retry-after": email.utils.formatdate(began + 3600, usegmt=True)})
    assert wait is not None
    assert began + 3599 - time.time() <= wait <= 3600


@given(st.text())
def test_any_retry_after_is_usable_or_unsaid(header: str) -> None:
    """Any header gives a number of seconds to wait, or None."""
    wait = failures.retry_after({"retry-after": header})
    assert wait is None or 0 <= wait < float("inf")


@pytest.mark.parametrize(
    ("status", "details", "error"),
    [
        (400, {}, ProviderRefused),
        (400, {"code": "context_length_exceeded"}, ContextTooLong),
        (401, {}, ProviderRefused),
        (403, {}, ProviderRefused),
        (404, {}, ProviderRefused),
        (408, {}, ProviderTimeout),
        (409, {}, ProviderError),
        (413, {}, ContextTooLong),
        (422, {}, ProviderRefused),
        (429, {}, RateLimited),
        (429, {"code": "insufficient_quota"}, ProviderRefused),
        (500, {}, ProviderError),
        (503, {}, ProviderError),
        (429, {"wait": 3600.0}, RateLimited),
        (429, {"wait": 99999999999.0}, ProviderRefused),
        (503, {"wait": float("inf")}, ProviderRefused),
        (503, {"wait": 2.0}, RateLimited),
        (504, {}, ProviderTimeout),
        (529, {}, ProviderError),
    ],
)
def test_each_status_means_one_error(
    status: int, details: dict[str, object], error: type[ProviderError]
) -> None:
    """Each status is retried, delayed, refused or too long, as its meaning requires."""
    assert error is type(failures.of_status(status, "message", **details))


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
        "the request exceeds the available context size",
        "Input length 9000 exceeds model's maximum context length 8192",
    ],
)
def test_too_long_is_recognised_in_the_words_of_each_provider(message: str) -> None:
    """A 400 that complains about length is ``ContextTooLong``."""
    assert isinstance(failures.of_status(400, message), ContextTooLong)
