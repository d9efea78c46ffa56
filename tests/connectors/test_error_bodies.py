# SPDX-License-Identifier: Apache-2.0
"""The message and the codes of error bodies in all the forms that servers and proxies send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors.bodies import error_in
from kgbench.connectors.calls import Caller
from kgbench.errors import ProviderError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "detail", "code", "message", "raw", "x"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("body", "message", "codes", "status"),
    [
        ({"error": {"message": "a b", "code": "c", "type": "t"}}, "a b", ("c", "t"), None),
        ({"error": "no words at all"}, "no words at all", (), None),
        ({"code": "denied", "error": "no credits yet"}, "no credits yet", ("denied",), None),
        ({"error": "one_word"}, "one_word", ("one_word",), None),
        ({"detail": "Not Found"}, "Not Found", (), None),
        (
            {"detail": [{"loc": ["body", "top_p"], "msg": "too much", "type": "value_error"}]},
            *("body.top_p: too much", ("value_error",), None),
        ),
        ([{"error": {"code": 400, "message": "a b", "status": "BAD"}}], "a b", ("BAD",), 400),
        ({"object": "error", "message": "no good", "code": 404}, "no good", (), 404),
        ({"errors": ["first words", "second words"]}, "first words: second words", (), None),
        (
            {"error": {"message": "Provider error", "metadata": {"raw": '{"error":"its words"}'}}},
            *("Provider error: its words", (), None),
        ),
        (
            {"error": {"message": "flagged", "metadata": {"reasons": ["of violence"]}}},
            *("flagged: of violence", ("flagged",), None),
        ),
        ({"error": {"innererror": {"code": "Policy"}, "message": "a b"}}, "a b", ("Policy",), None),
        ({"base_resp": {"status_code": 1008, "status_msg": "a b"}}, "a b", ("1008",), None),
        ({"title": "Bad request", "detail": "no key"}, "Bad request: no key", (), None),
        ({"fault": {"faultstring": "a b"}}, "a b", (), None),
        ({"Message": "a b", "__type": "Throttling"}, "a b", ("Throttling",), None),
        (
            {"message": {"detail": [{"msg": "a b", "type": "t"}]}, "type": "e"},
            "a b",
            ("e", "t"),
            None,
        ),
        ({"errors": [{"message": "a b", "code": 5021}], "success": False}, "a b", ("5021",), None),
        (
            {"error": {"message": "litellm.RateLimitError: OpenAIException - a b"}},
            "litellm.RateLimitError: OpenAIException - a b",
            ("RateLimitError", "OpenAIException"),
            None,
        ),
        ({"error": {"message": "a " * 5_000}}, "a " * 1_000, None, None),
        ({"odd": 1}, '{"odd": 1}', (), None),
        ({}, "", (), None),
    ],
)
def test_the_message_is_what_the_server_said(
    body: Any, message: str, codes: tuple[str, ...] | None, status: int | None
) -> None:
    """Messages are found in each known place, in order, with all codes and an HTTP status."""
    said = error_in(json.dumps(body))
    assert (said.message, said.status) == (message, status)
    assert codes is None or said.codes == codes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("upstream connect error or disconnect", "upstream connect error or disconnect"),
        ("<!DOCTYPE html><html><head><title>A &amp; B</title></head></html>", "A & B"),
        ("<html><body><h1>502 Bad\nGateway</h1></body></html>", "502 Bad Gateway"),
        (": waiting\n\n: waiting\n\n" + '{"error": "a b"}', "a b"),
        ('{"error": "a\n\tb"}', "a b"),
        ("", ""),
        ("word " * 200, ("word " * 200)[:300]),
    ],
)
def test_bodies_that_are_not_json_are_shown(text: str, message: str) -> None:
    """Plain text is shown up to 300 characters, a page by its title."""
    assert error_in(text).message == message


@given(JSON)
def test_any_body_can_be_read(body: Any) -> None:
    """Any JSON gives a message of one line, and an error of the provider that shows no key."""
    text = json.dumps(body)
    assert "\n" not in error_in(text).message
    with pytest.raises(ProviderError):
        Caller("openai:m", 1.0).failed(500, text, {})


def test_keys_are_hidden_in_the_words_of_a_server() -> None:
    """A key that a server repeats in an error, escaped or not, is not shown."""
    key = "long/secret-key-of-nobody"
    text = json.dumps({"error": {"message": f"wrong: {key}"}}).replace("/", "\\/")
    with pytest.raises(ProviderError, match=r"HTTP 401: wrong: \[hidden\]"):
        Caller("openai:m", 1.0, (key,)).failed(401, text, {})
