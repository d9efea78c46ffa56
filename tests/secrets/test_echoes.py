# SPDX-License-Identifier: Apache-2.0
"""Known keys are found as they are and escaped once; other texts stay."""

from __future__ import annotations

import html
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.secrets.detection import HIDDEN, SecretDetector

KEY = "k+Planted/0123456789=%41&x"
ESCAPES = {
    "as it is": lambda key: key,
    "JSON": json.dumps,
    "JSON with escaped slashes": lambda key: json.dumps(key).replace("/", "\\/"),
    "JSON, all escaped": lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    "URL": lambda key: urllib.parse.quote(key, safe=""),
    "URL, lower case": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "HTML": html.escape,
    "HTML, all escaped": lambda key: "".join(f"&#x{ord(c):x};" for c in key),
    "Python": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
}


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escaped_key_is_hidden(escape):
    """With any escape, the key goes and the text beside it stays."""
    text = f"before {ESCAPES[escape](KEY)} after"
    detector = SecretDetector([KEY])

    hidden = detector.hide(text)

    assert detector.tells(text)
    assert hidden.replace('"', "") == f"before {HIDDEN} after"


_BESIDE = st.text(st.characters(exclude_characters="\\%&"))  # these would change escapes


@given(st.text("abAB01+/-_=%&.", min_size=16, max_size=40), _BESIDE, _BESIDE, st.data())
def test_no_key_survives_any_escape(key, before, after, data):
    """Keys of special characters are found anywhere in a text, with each escape."""
    text = before + data.draw(st.sampled_from(list(ESCAPES.values())))(key) + after

    hidden = SecretDetector([key]).hide(text)

    assert HIDDEN in hidden
    assert key not in hidden


@given(st.text())
def test_other_texts_stay(text):
    """A text without a key is returned unchanged."""
    assert SecretDetector([KEY]).hide(text) == text


def test_a_plain_text_keeps_its_rest():
    """A key is cut out of its text, also twice and beside what looks like an escape."""
    text = f"{KEY}{KEY}, 100%41 {KEY}x \ud800"

    assert SecretDetector([KEY]).hide(text, "*") == "**, 100%41 *x \ud800"


def test_json_values_are_searched_whole():
    """Names and texts of a JSON value are searched at any depth; other values stay."""
    value = {KEY: [KEY, 1, None], "a": {"b": f"x {KEY}"}}

    assert SecretDetector([KEY]).hide_in(value, "*") == {"*": ["*", 1, None], "a": {"b": "x *"}}


def test_detectors_of_the_same_keys_are_equal():
    """The identity depends on the keys alone, and reveals none of them."""
    first, second = SecretDetector([KEY, "other"]), SecretDetector(["other", KEY, KEY])

    assert first.identity() == second.identity() != SecretDetector([KEY]).identity()
    assert not first.tells(" ".join(first.identity()))
