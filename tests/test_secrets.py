# SPDX-License-Identifier: Apache-2.0
"""Keys are hidden as they are and escaped once, in linear time; other texts stay."""

from __future__ import annotations

import html
import json
import subprocess
import sys
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors.calls import Caller
from kgbench.secrets import HIDDEN, SecretDetector, hide_keys, surplus_of_key


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


#: Repeated pieces that could make a search restart within text it has already read.
FAMILIES = (
    *("a.", "1.1.1.", "a", "a-", "ab ", "A A ", "a@", "@", "@a.", "a@a-", "://", "a://", "://a@"),
    *(
        "://a:",
        "[:",
        "[",
        "1:",
        "1::",
        "::",
        "1::aaaaaaaa",
        "/-",
        "/-/",
        "/v1",
        "-/a",
        "\\",
        "\\\\a",
    ),
    *("a:\\", "\\\\?\\a", ".local", "a.local", "localhost", "sk-", "sk-.", "sk-*", "AIza", "eyJ"),
    *("-eyJ", ".eyJ", "eyJaaaaaaaaaa.", "Bearer ", "bearer a", "authorization", "authorization: "),
    *("api-key=\n", "api_key=", "&key=", "token=", "%", "%2", "%41", "%25", "\\u0041", "\\u005c"),
    *("&amp;", "&#38;", "AKIA", "ghp_", "-----BEGIN ", "0a", "\u00e9", "\ud800"),
    *("%2F", "%2Fa", "%252F", "a%3A%5C", "~a", "~a."),
)
CODE = """
import resource, sys
from kgbench.publish.scrubbing import Scrubber, hosts_and_people
from kgbench.secrets import SecretDetector, contains_pasted_key, published_keys, scrub

size, families = int(sys.argv[1]), eval(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[3]),) * 2)
echoes = SecretDetector(["planted-key-0123456789", "another-key/0123456789"])
scrubber = Scrubber(["host-1", "ann"], echoes)
for family in families:
    for end in sys.argv[4:]:
        text = family * (size // len(family)) + end
        scrubber.text(text)
        scrub(text)
        hosts_and_people([text])
        list(published_keys(text))
        contains_pasted_key(text)
        list(scrubber.private_parts(text))
    print(repr(family), flush=True)
"""


def _searched(size: int, families: tuple[str, ...], seconds: int, *ends: str) -> None:
    """Search the texts of ``families`` in a process that is limited in CPU time."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(size), repr(families), str(seconds), *ends],
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * seconds,
    )
    assert done.stdout.splitlines() == [repr(family) for family in families], done.stderr[-500:]


def test_texts_of_one_pattern():
    """Forty kilobytes of each family are searched in time; one once took half a minute."""
    _searched(40_000, FAMILIES, 60, "", "@")


@pytest.mark.parametrize("family", FAMILIES)
def test_long_texts_of_one_pattern(family):
    """A megabyte of a family, in five forms, is searched within the same time."""
    _searched(1_000_000, (family,), 60, "", "!", "g", "@", "/")


@pytest.mark.parametrize("family", ["a.", "1.1.1."])
def test_very_long_texts_of_one_pattern(family):
    """Ten megabytes that once stopped a publication are searched within minutes."""
    _searched(10_000_000, (family,), 600, "")
