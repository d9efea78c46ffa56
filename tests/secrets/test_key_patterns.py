# SPDX-License-Identifier: Apache-2.0
"""Possible keys are hidden in messages; names of models stay readable."""

from __future__ import annotations

import pytest

from kgbench.connectors.calls import Caller
from kgbench.secrets.key_patterns import hide_keys, surplus_of_key


@pytest.mark.parametrize(
    "name",
    [
        "llama-2-7b-chat-hf-max_tokens",
        "meta-llama/Llama-2-13b-hf-quantized",
        "r8-turbo-instruct",
        "vicuna-sk-learn-v2",
        "desk-risk-analysis",
        "baseline:noisy?rate=0.6&seed=7",
    ],
)
def test_names_of_models_are_not_keys(name):
    """A name that a specification may have is shown in messages."""
    message = Caller(f"openai:{name}", 1.0).describe(f"the model {name} does not exist")

    assert message == f"openai:{name}: the model {name} does not exist"


@pytest.mark.parametrize(
    "key",
    [
        "sk-Ab3dEf6hIj9k",
        "sk-proj-****wxyz",
        "sk-ab***",
        "hf_****mnop",
        "hf-****mnop",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "hf-abcdefghijklmnopqrstuvwxyz",
        "gsk-abcdefghij0123456789",
    ],
)
@pytest.mark.parametrize("before", ["", "key-", "x_", "'"])
def test_keys_are_hidden(key, before):
    """Whole keys and masked ones are hidden, also within a word with dashes."""
    assert hide_keys(f"the key {before}{key} is wrong", "[hidden]") == (
        f"the key {before}[hidden] is wrong"
    )


@pytest.mark.parametrize("key", ["sk-Ab3dEf6hIj9k", "bearer", "bearerx y", "a'b", "dummy"])
def test_a_key_alone_has_no_surplus(key):
    """Only the scheme of a header, and quotes at an end, are no part of a key."""
    assert surplus_of_key(key) is None
