# SPDX-License-Identifier: Apache-2.0
"""A guessing attack on what a publication left out.

The replacement of a value may be its SHA-256, whatever it is called. So likely values are digested
and compared: small numbers, all texts of the dumps and the words in them, and the short lists of
words of one text. In addition, digests of what was left out are reported without a guess, whether
in values or in IRIs, because other attackers may have other guesses.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import chain, islice, permutations
from typing import Any

import pyoxigraph as ox

from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.redaction import parse_json
from kgbench.rdf import canonical_json
from kgbench.vocab import KGB, PROV, RDF, SCHEMA

_HEX = re.compile(r"(?<![0-9A-Za-z])w?([0-9a-f]{64})(?![0-9A-Za-z])")
_PLAIN_END = re.compile(r"[/-][0-9a-f]{8,64}(?:\.\d+)?\Z")
_WORD = re.compile(r"[^\s\"'<>(){}\[\],;|]+")
_NUMBERS = 20_000
_SHORT_LIST = 6  # most words of which all lists are tried
_SETS, _LISTS = 50_000, 500_000  # most sets of words, and lists of these, that are tried
_LONGEST = 100_000  # characters of a text that are split into words
_SHOWN = 60
_AGAIN = (
    "Publish again with this version of kgbench, and regard the value as known: it was published."
)
_TYPE, _VALUE = ox.NamedNode(RDF.type), ox.NamedNode(PROV.value)
_CASE_DATA = ox.NamedNode(KGB.caseData)
_DIGEST = ox.NamedNode(KGB.digest)
_DIGESTED = frozenset(map(ox.NamedNode, (KGB.Case, KGB.Dialogue, KGB.Configuration, KGB.Text)))
_DERIVED, _TEXT = ox.NamedNode(PROV.wasDerivedFrom), ox.NamedNode(KGB.text)
_REDACTED = ox.NamedNode(KGB.redacted)
_HOLDING = tuple(map(ox.NamedNode, (KGB.caseData, KGB.infos, SCHEMA.error, PROV.value)))


class Attack:
    """An attack on the dumps; ``guesses`` counts the guesses at the values ``attacked``."""

    def __init__(self, published: PublicationFiles) -> None:
        self._published = published
        self._quads = published.quads
        self.guesses = 0
        self.attacked: dict[bytes, Any] = {}

    def faults(self) -> Iterator[Fault]:
        """Yield values that were guessed, and values that could be guessed."""
        self.attacked = dict(self.targets())
        yield from self._unsalted()
        if not self.attacked:
            return
        guessed: set[bytes] = set()
        for guess in self._candidates():
            self.guesses += 1
            digest = hashlib.sha256(guess.encode("utf-8", "surrogatepass")).digest()
            if digest in self.attacked and digest not in guessed:
                guessed.add(digest)
                node = self.attacked[digest]
                if self._is_published(node, guess):
                    continue
                shown = guess if len(guess) <= _SHOWN else f"{guess[:_SHOWN]}..."
                message = f"A value that was left out came back by guessing: {shown!r}."
                yield self._fault("guessed", node, message)

    def _is_published(self, node: Any, value: str) -> bool:
        """Return whether a digest belongs to a value published beside it, or to a case's prompt."""
        pattern = self._quads.quads_for_pattern
        derived = (quad.subject for quad in pattern(None, _DERIVED, node))
        texts: Iterator[Any] = (
            quad.object for prompt in derived for quad in pattern(prompt, _TEXT, None)
        )
        prompts = (quad for text in texts for quad in pattern(text, _VALUE, None))
        quads = chain(pattern(node, None, None), prompts)
        return any(
            getattr(quad.object, "value", None) == value and quad.predicate != _REDACTED
            for quad in quads
        )

    def _fault(self, constraint: str, node: Any, message: str) -> Fault:
        name = getattr(node, "value", "")
        return Fault(constraint, name, self._published.file_of(node), message, _AGAIN)

    # --- what is attacked -------------------------------------------------------------------

    def targets(self) -> Iterator[tuple[bytes, Any]]:
        """Yield digests in place of values, each with the node that has it."""
        pattern = self._quads.quads_for_pattern
        for predicate in _HOLDING:
            for quad in pattern(None, predicate, None):
                text = str(getattr(quad.object, "value", ""))
                if predicate != _VALUE or "[sha256:" in text:
                    yield from self._digests(text, quad.subject)
        for quad in pattern(None, _DIGEST, None):
            kinds = {q.object for q in pattern(quad.subject, _TYPE, None)}
            if not kinds.isdisjoint(_DIGESTED):
                yield from self._digests(str(getattr(quad.object, "value", "")), quad.subject)
        for quad in pattern(None, _REDACTED, None):
            yield from self._digests(str(getattr(quad.subject, "value", "")), quad.subject)

    def _digests(self, text: str, node: Any) -> Iterator[tuple[bytes, Any]]:
        for digits in _HEX.findall(text):
            yield bytes.fromhex(digits), node

    def _unsalted(self) -> Iterator[Fault]:
        """Yield unsalted digests of what was left out, whether they were guessed or not."""
        pattern = self._quads.quads_for_pattern
        message = "An unsalted digest of what was left out is public: guesses can be compared with "
        for quad in pattern(None, _CASE_DATA, None):
            data = parse_json(str(getattr(quad.object, "value", "")))
            values = data.values() if isinstance(data, dict) else ()
            if any(isinstance(value, dict) and value.keys() == {"sha256"} for value in values):
                yield self._fault("unsalted-digest", quad.subject, f"{message}it.")
        for quad in pattern(None, _REDACTED, None):
            yield from self._names_digest(quad.subject, message)

    def _names_digest(self, node: Any, message: str) -> Iterator[Fault]:
        if _PLAIN_END.search(str(getattr(node, "value", ""))):
            yield self._fault("unsalted-digest", node, f"{message}the one in its IRI.")

    # --- guesses ----------------------------------------------------------------------------

    def _candidates(self) -> Iterator[str]:
        yield from ("", "true", "false", "null", "[]", "{}")
        yield from map(str, range(_NUMBERS))
        yield from (f"{number / 100:g}" for number in range(101))
        yield from chain.from_iterable(map(_spellings, self._words()))
        yield from islice(self._lists(), _LISTS)

    def _texts(self) -> Iterator[str]:
        """Yield the texts of the dumps, and the texts in their JSON."""
        for quad in self._quads:
            value: Any = quad.object
            if isinstance(value, ox.Literal):
                yield value.value
                if value.datatype.value == RDF.JSON:
                    yield from _strings(parse_json(value.value))

    def _words(self) -> Iterator[str]:
        seen: set[str] = set()
        for text in self._texts():
            if text in seen:
                continue
            seen.add(text)
            yield text
            for word in _WORD.findall(text[:_LONGEST]):
                for form in (word, word.strip(".:!?*`_-"), re.split(r"[/#:]", word)[-1].strip(".")):
                    if form and form not in seen:
                        seen.add(form)
                        yield form

    def _lists(self) -> Iterator[str]:
        """Yield lists of the words of short texts, and of the names in long ones."""
        word_sets: set[frozenset[str]] = set()
        for text in self._texts():
            words = [word.strip(".:!?*`_-") for word in _WORD.findall(text[:_LONGEST])]
            for candidates in (words, [word for word in words if word[:1].isupper()]):
                word_set = frozenset(filter(None, islice(candidates, 10 * _SHORT_LIST)))
                if 1 < len(word_set) <= _SHORT_LIST:
                    word_sets.add(word_set)
            if len(word_sets) >= _SETS:
                break
        for word_set in sorted(word_sets, key=lambda words: (len(words), sorted(words))):
            for length in range(1, len(word_set) + 1):
                for listed in permutations(sorted(word_set), length):
                    yield canonical_json(list(listed))
                    yield ", ".join(listed)


def _spellings(word: str) -> Iterator[str]:
    """Yield a word as plain text, as JSON, and as the only item of a list."""
    yield word
    if len(word) <= _SHOWN:
        yield json.dumps(word)
        yield canonical_json([word])


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        if len(text := canonical_json(value)) <= _LONGEST:
            yield text
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
