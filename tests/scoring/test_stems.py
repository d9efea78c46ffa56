# SPDX-License-Identifier: Apache-2.0
"""Stemming by pieces equals stemming the whole text, and the caches are bounded."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import pytest

from kgbench.errors import ResourceError
from kgbench.scoring import stems

LONG = "running/" * 10  # longer than a cached text; neither a word nor words with hyphens
#: Sixty-four characters with an apostrophe inside, which only the tokeniser splits.
ODD = "can't" + "running/" * 7 + "abc"
SPEC = importlib.util.find_spec("nltk")


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """Clear the caches."""
    stems.clear_caches()


@pytest.mark.parametrize(
    "text",
    [
        *("running.", "running. ", "running. )", "running. ) )", "running. \u2028", "running. x"),
        *("running, x", "(running) x", "x running. cats running", "x", " ", ""),
        *("''x y", "x ''y z", "x y ''z", "''x"),
        *("lemme go", "go lemme", "Gimme it", "lemme, x", "well-lemme x", "LEMME (see)"),
        *(f"{LONG} x", f"''{LONG} x", f"x ''{LONG} y", f"x {LONG}running.", f"x {LONG}running. y"),
        *(ODD, f"{ODD}d", f"{ODD}. x", f"x {ODD}d."),
    ],
)
def test_pieces_at_the_ends_of_a_text(text: str) -> None:
    """Quotation marks at the start and periods at the end are treated as in the whole text."""
    tokenise, stem = stems._tools()

    assert stems.stemmed(text) == stems.folded("".join(map(stem, tokenise(text))))


def test_folding() -> None:
    """White space, underscores and case are ignored, and nothing else is."""
    assert stems.folded("Cast_Member \t of\n2,5") == "castmemberof2,5"


def test_endless_words_are_no_words() -> None:
    """A word of up to 200 characters is stemmed; a longer one is only put into lower case."""
    assert stems.stemmed("a" * 193 + "Running") == "a" * 193 + "run"
    assert stems.stemmed("a" * 194 + "Running") == "a" * 194 + "running"
    assert stems.stemmed("\u00df" * 201) == "\u00df" * 201


def test_only_short_texts_are_remembered() -> None:
    """A text of up to 64 characters is cached, a longer one is not."""
    stems.stemmed("a" * 65)
    assert stems._short.cache_info().currsize == 0
    stems.stemmed("a" * 64)
    assert stems._short.cache_info().currsize == 1


def test_only_short_pieces_are_remembered() -> None:
    """Words and words with a mark are not cached, other pieces are up to 64 characters."""
    stems.stemmed(f"cats (running) well-known. {'cats, ' * 20}cats")
    assert stems._cached_stems.cache_info().currsize == 0
    stems.stemmed(f"x {ODD}d y")
    assert stems._cached_stems.cache_info().currsize == 0
    stems.stemmed(f"x {ODD} y")
    assert stems._cached_stems.cache_info().currsize == 1


def test_other_modules_of_nltk_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading keeps the modules of NLTK that were imported, and adds none."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
        monkeypatch.delitem(sys.modules, name)
    there = {"nltk": ModuleType("nltk"), "nltk.other": ModuleType("nltk.other")}
    for name, module in there.items():
        monkeypatch.setitem(sys.modules, name, module)
    stems._tools.cache_clear()
    # find_spec() finds the replaced package only through its __spec__.
    there["nltk"].__spec__ = SPEC
    stems.load()

    assert {name: m for name, m in sys.modules.items() if name.startswith("nltk")} == there


@pytest.mark.parametrize("spec", [None, SimpleNamespace(submodule_search_locations=None)])
def test_missing_package_is_named(spec: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """If NLTK is not installed, or not a package, the error says what to do."""
    stems._tools.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)

    with pytest.raises(ResourceError, match=r"^the package nltk is missing: reinstall kgbench$"):
        stems.load()
