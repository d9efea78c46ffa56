# SPDX-License-Identifier: Apache-2.0
"""Values left out of a publication cannot be guessed from digests in any of its files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import chain, permutations
from pathlib import Path

import pytest

from kgbench.rdf import canonical_json, digest
from kgbench.vocab import PROV
from tests.publish.checks.published_folder import unpacked

_DIGITS = re.compile(r"(?<![0-9a-z])[0-9a-f]{8,64}(?![0-9a-z])")
_WORDS = re.compile(r"[\w'.-]+")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.){1,1000})"')
_LENGTHS = (8, 12, 64)  # digits of digests in IRIs of dialogues, cases and texts
_NAMES = 4  # of a list whose orders are all tried


def guesses(text: str) -> Iterator[str]:
    """Yield what a reader of a text would try: numbers, words, quoted texts, lists of names."""
    yield from ("true", "false", "null", "[]", "{}", *map(str, range(1000)))
    yield from (f"{number / 100:g}" for number in range(101))
    quoted = set(_LITERAL.findall(text))
    for value in {*_WORDS.findall(text), *quoted}:
        yield from (value, json.dumps(value), canonical_json([value]))
    names = {frozenset(w for w in _WORDS.findall(one) if w[:1].isupper()) for one in quoted}
    for several in (sorted(found) for found in names if 1 < len(found) <= _NAMES):
        for order in chain.from_iterable(permutations(several, n + 1) for n in range(len(several))):
            yield from (canonical_json(list(order)), ", ".join(order))


def guessed(text: str) -> set[str]:
    """Return the guesses whose SHA-256, or its first digits, are in a text."""
    told = set(_DIGITS.findall(text))
    # Texts that are published beside their digest are not left out.
    told -= set(re.findall(rf"#([0-9a-f]{{64}})> <{PROV.value}>", text))
    digests = ((guess, hashlib.sha256(guess.encode()).hexdigest()) for guess in guesses(text))
    return {guess for guess, digits in digests if any(digits[:n] in told for n in _LENGTHS)}


def test_a_protected_suite_gives_nothing_back(site: Path) -> None:
    """No number, word of any file or order of names is a value that was left out."""
    files = sorted(path for path in site.rglob("*") if path.is_file())
    texts = [
        unpacked(path).decode() if path.suffix == ".zst" else path.read_text("utf-8", "replace")
        for path in files
    ]
    hints = ' "Spell bob." "anne" "bob" "a-n-n-e"'
    # The sample uses these as digest of a query and of a key.
    assert guessed("\n".join(texts) + hints) <= {"3", "4"}


@pytest.mark.parametrize("length", _LENGTHS)
@pytest.mark.parametrize(
    "value", [3, "bob", ["Cleo", "Anne", "Bert"], "No, it is Anne", 0.25, True], ids=str
)
def test_a_plain_digest_is_guessed(value: object, length: int) -> None:
    """A value behind a digest without a key, or its first digits, is guessed."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    said = '"Anne, Bert, Cleo", "bob" , "No, it is Anne"'
    assert text in guessed(f"{said} <case/{digest(text)[:length]}>")
    assert text not in guessed(f"{said} <case/w{digest(text)[:length]}>")
