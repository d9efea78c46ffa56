# SPDX-License-Identifier: Apache-2.0
"""Searches for secrets take time in proportion to the text, whatever its content."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
from kgbench.secrets.detection import scrub
from kgbench.secrets import key_patterns
from kgbench.secrets.detection import SecretDetector

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
        list(key_patterns.published_keys(text))
        key_patterns.contains_pasted_key(text)
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
