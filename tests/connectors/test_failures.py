# SPDX-License-Identifier: Apache-2.0
"""The classification of a provider's failures, and the removal of secrets from messages."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors.calls import Caller
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Outcome
from kgbench.net.limits import retry_after
from kgbench.secrets import scrub

NAME = "my models/context-length-exceeded-7b, whose context length exceeds all"
CALLER = Caller(f"openai:{NAME}", 1.0, model=NAME)
# In the words of OpenAI, Anthropic, Google, llama.cpp, vLLM, LM Studio, OpenRouter and others.
TOO_LONG = (
    "This model's maximum context length is 8192 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed",
    "the request exceeds the available context size",
    "request (4476 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "Context size has been exceeded.",
    "Input length 9000 exceeds model's maximum context length 8192",
    "You passed 8193 input tokens. However, the model's context length is only 8192 tokens.",
    "The decoder prompt (length 9) is longer than the maximum model length of 8",
    "max_tokens must be at least 1, got -799",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "Trying to keep the first 6000 tokens when context the overflows.",
    "the model is loaded with context length of only 4096 tokens, which is not enough",
    "Requested tokens (5000) exceed context window of 2048",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
    "Range of input length should be [1, 30720]",
    "Your request exceeded model token limit: 8192",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model. Please adjust your input.",
    "Please reduce the length of the messages or completion.",
    "the number of input tokens 9000 cannot exceed the total tokens limit 8192",
    "Prompt exceeds max length",
)
# In the words of DeepSeek, xAI, Alibaba, Anthropic, OpenRouter, OpenAI, Azure, Moonshot, Zhipu.
REFUSED = (
    "Content Exists Risk",
    "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
    "Output data may contain inappropriate content.",
    "Output blocked by content filtering policy",
    'Your chosen model requires moderation and your input was flagged for "violence"',
    "Your request was rejected as a result of our safety system",
    "your prompt was flagged as potentially violating our usage policy",
    "The response was filtered due to the prompt triggering the content management policy.",
    "The request was rejected because it was considered high risk",
    "系统检测到输入或生成内容可能包含不安全或敏感内容",
)
NEITHER = (
    (413, "Request too large on tokens per minute (TPM): reduce your message size", RateLimited),
    (429, "would exceed the rate limit of 40,000 input tokens per minute", RateLimited),
    (400, "max_tokens is too large: 40000. The maximum context length is 8", ProviderRefused),
    (404, f"The model `{NAME}` does not exist", ProviderRefused),
    (500, "out of memory: reduce max_model_len", ProviderError),
    (403, "Your account has been disabled: violation of our usage policy", ProviderRefused),
    (403, "Request blocked by security policy", ProviderRefused),
    (403, "Your newly created team doesn't have any credits yet.", ProviderRefused),
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
    assert expected == scrub(message)


@given(_KEYS, st.text(max_size=40), st.text(max_size=40))
def test_no_key_survives(key: str, before: str, after: str) -> None:
    """A known key is removed from any place in a message."""
    assert key not in scrub(f"{before}{key}{after}", [key])


def test_no_key_hides_nothing() -> None:
    """An empty key changes no message."""
    assert scrub("a message", ["", "key"]) == "a message"


def test_long_messages_are_shortened() -> None:
    """A page of HTML is shortened in an error message."""
    assert len(scrub("word " * 10_000)) <= 600


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
    assert seconds == retry_after(headers)


def test_retry_after_can_be_a_date() -> None:
    """An HTTP date, which has whole seconds, is a delay from now."""
    began = time.time()
    wait = retry_after({"retry-after": email.utils.formatdate(began + 3600, usegmt=True)})
    assert wait is not None
    assert began + 3599 - time.time() <= wait <= 3600


@given(st.text())
def test_any_retry_after_is_usable_or_unsaid(header: str) -> None:
    """Any header gives a number of seconds to wait, or None."""
    wait = retry_after({"retry-after": header})
    assert wait is None or 0 <= wait < float("inf")


def _error(status: int, body: Any = "", headers: dict[str, str] | None = None) -> ProviderError:
    """Return the error that a response with this status and error body means."""
    text = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(ProviderError) as raised:
        CALLER.failed(status, text, headers or {})
    assert raised.value.status == status
    return raised.value


@pytest.mark.parametrize(
    ("status", "code", "wait", "error"),
    [
        (400, None, None, ProviderRefused),
        (400, "context_length_exceeded", None, ContextTooLong),
        (401, None, None, ProviderRefused),
        (403, None, None, ProviderRefused),
        (404, None, None, ProviderRefused),
        (408, None, None, ProviderTimeout),
        (409, None, None, ProviderError),
        (413, None, None, ProviderRefused),
        (413, "rate_limit_exceeded", None, RateLimited),
        (418, None, None, ProviderError),
        (422, None, None, ProviderRefused),
        (429, None, None, RateLimited),
        (429, "insufficient_quota", None, ProviderRefused),
        (500, None, None, ProviderError),
        (503, None, None, ProviderError),
        (429, None, "3600", RateLimited),
        (429, None, "99999999999", ProviderRefused),
        (503, None, "2", RateLimited),
        (504, None, None, ProviderTimeout),
        (529, None, None, ProviderError),
    ],
)
def test_each_status_means_one_error(
    status: int, code: str | None, wait: str | None, error: type[ProviderError]
) -> None:
    """Each status is retried, delayed, refused or too long, as its meaning requires."""
    headers = {} if wait is None else {"Retry-After": wait}
    assert error is type(_error(status, {"error": {"message": "no", "code": code}}, headers))


@pytest.mark.parametrize("message", TOO_LONG)
def test_too_long_is_recognised_in_the_words_of_each_provider(message: str) -> None:
    """An error that complains about length is ``ContextTooLong``, whatever its status."""
    for status in (400, 422, 500):
        assert isinstance(_error(status, {"error": {"message": message}}), ContextTooLong)


@pytest.mark.parametrize("message", REFUSED)
def test_a_refusal_is_recognised_in_the_words_of_each_provider(message: str) -> None:
    """An error of a content filter is a refused answer, whatever its status."""
    for status in (400, 403, 451):
        reply = CALLER.failed(status, json.dumps({"error": {"message": message}}), {})
        assert (reply.text, reply.outcome) == ("", Outcome.REFUSED)


@pytest.mark.parametrize(("status", "message", "error"), NEITHER)
def test_words_that_only_resemble_are_not_final(
    status: int, message: str, error: type[ProviderError]
) -> None:
    """Rate limits, accounts, options and names of models are not the length or a refusal."""
    assert error is type(_error(status, {"error": {"message": message}}))


def test_retry_after_counts_from_the_clock_of_the_server() -> None:
    """A date to retry after is relative to the ``Date`` of the response, not to our clock."""
    now = time.time() + 7200
    headers = {
        "date": email.utils.formatdate(now, usegmt=True),
        "retry-after": email.utils.formatdate(now + 5, usegmt=True),
    }
    assert retry_after(headers) == 5.0
