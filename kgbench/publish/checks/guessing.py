# SPDX-License-Identifier: Apache-2.0
"""An attack on what a publication left out: whether guesses give it back.

Whatever stands in the place of a value may be its SHA-256, whatever it is called. So everything
that anyone might try first is digested and compared: small numbers, all texts of the dumps and the
words in them, and the short lists that can be made of the words of one text. Besides, digests that
stand where commitments should are told without a guess, whole or in IRIs: another attacker has
other guesses.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, permutations
from typing import Any

import pyoxigraph as ox

from kgbench.publish import disclosing
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Fault
from kgbench.publish.withholding import parsed
from kgbench.rdf import canonical_json
from kgbench.secrets.commitments import Opening, is_withheld
from kgbench.vocab import KGB, PROV, RDF, SCHEMA

_HEX = re.compile(r"(?<![0-9A-Za-z])w?([0-9a-f]{64})(?![0-9A-Za-z])")
_PLAIN_END = re.compile(r"[/-][0-9a-f]{8,64}(?:\.\d+)?\Z")
_WORD = re.compile(r"[^\s\"'<>(){}\[\],;|]+")
_NUMBERS = 20_000
_SHORT_LIST = 6  # words of which all lists are tried
_SETS, _LISTS = 50_000, 500_000  # so many sets of words, and lists of these, are tried at most
_LONGEST = 100_000  # characters of a text that is taken apart
_SHOWN = 60
_AGAIN = (
    "Publish again with this version of kgbench, and take the value for known: it was published."
)
_TYPE, _VALUE = ox.NamedNode(RDF.type), ox.NamedNode(PROV.value)
_CASE, _CASE_DATA = ox.NamedNode(KGB.case), ox.NamedNode(KGB.caseData)
_DIGEST, _COMMITMENT = ox.NamedNode(KGB.digest), ox.NamedNode(KGB.commitment)
_DIGESTED = frozenset(map(ox.NamedNode, (KGB.Case, KGB.Dialogue, KGB.Configuration, KGB.Text)))
_DERIVED, _TEXT = ox.NamedNode(PROV.wasDerivedFrom), ox.NamedNode(KGB.text)
_REDACTED = ox.NamedNode(KGB.redacted)
_HOLDING = tuple(map(ox.NamedNode, (KGB.caseData, KGB.infos, SCHEMA.error, PROV.value)))


def disclosed(published: Published, openings: Iterable[Opening], file: str) -> Iterator[Fault]:
    """What a disclosure in ``file`` says that does not fit the publication."""
    attack = Attack(published)
    there = {digest for digest, _ in attack.targets()}
    remedy = "Ask the publisher for the right disclosure."
    for one in openings:
        if not disclosing.holds(one):
            message = f"The value and the nonce do not give the commitment {one.commitment}."
            yield Fault("disclosed", "", file, message, remedy)
        elif bytes.fromhex(one.commitment) not in there:
            message = f"The commitment {one.commitment} is not in the publication."
            yield Fault("disclosed", "", file, message, remedy)


class Attack:
    """Attacks the dumps of a publication; ``guesses`` counts those made at what is ``attacked``."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self._quads = published.quads
        self.guesses = 0
        self.attacked: dict[bytes, Any] = {}

    def faults(self) -> Iterator[Fault]:
        """What can be guessed, and what could be."""
        self.attacked = dict(self.targets())
        yield from self._unsalted()
        if not self.attacked:
            return
        found: set[bytes] = set()
        for guess in self._candidates():
            self.guesses += 1
            digest = hashlib.sha256(guess.encode("utf-8", "surrogatepass")).digest()
            if digest in self.attacked and digest not in found:
                found.add(digest)
                node = self.attacked[digest]
                if self._is_published(node, guess):
                    continue
                told = guess if len(guess) <= _SHOWN else f"{guess[:_SHOWN]}..."
                message = f"A value that was left out came back by guessing: {told!r}."
                yield self._fault("guessed", node, message)

    def _is_published(self, node: Any, value: str) -> bool:
        """Whether a digest is that of a value which stands beside it, or of a case's prompt."""
        pattern = self._quads.quads_for_pattern
        derived = (quad.subject for quad in pattern(None, _DERIVED, node))
        texts: Iterator[Any] = (
            quad.object for one in derived for quad in pattern(one, _TEXT, None)
        )
        prompts = (quad for text in texts for quad in pattern(text, _VALUE, None))
        said = chain(pattern(node, None, None), prompts)
        return any(getattr(quad.object, "value", None) == value for quad in said)

    def _fault(self, constraint: str, node: Any, message: str) -> Fault:
        name = getattr(node, "value", "")
        return Fault(constraint, name, self._published.file_of(node), message, _AGAIN)

    # --- what is attacked -------------------------------------------------------------------

    def targets(self) -> Iterator[tuple[bytes, Any]]:
        """Digests in places of values, each with a node that has it."""
        pattern = self._quads.quads_for_pattern
        for predicate in _HOLDING:
            for quad in pattern(None, predicate, None):
                text = str(getattr(quad.object, "value", ""))
                if predicate != _VALUE or "[sha256:" in text or "[commitment:" in text:
                    yield from self._digests(text, quad.subject)
        for predicate in (_DIGEST, _COMMITMENT):
            for quad in pattern(None, predicate, None):
                kinds = {q.object for q in pattern(quad.subject, _TYPE, None)}
                if not kinds.isdisjoint(_DIGESTED):
                    yield from self._digests(str(getattr(quad.object, "value", "")), quad.subject)
        for quad in pattern(None, _REDACTED, None):
            yield from self._digests(str(getattr(quad.subject, "value", "")), quad.subject)

    def _digests(self, text: str, node: Any) -> Iterator[tuple[bytes, Any]]:
        for digits in _HEX.findall(text):
            yield bytes.fromhex(digits), node

    def _unsalted(self) -> Iterator[Fault]:
        """Digests of what was left out, whether or not anyone guesses it."""
        pattern = self._quads.quads_for_pattern
        message = "The unsalted digest of what was left out is told: guesses can be compared with "
        partial = set()
        for quad in pattern(None, _CASE_DATA, None):
            data = parsed(str(getattr(quad.object, "value", "")))
            said = data.values() if isinstance(data, dict) else ()
            if any(isinstance(value, dict) and value.keys() == {"sha256"} for value in said):
                yield self._fault("unsalted-digest", quad.subject, f"{message}it.")
            if is_withheld(data) or any(map(is_withheld, said)):
                partial.add(quad.subject)
                yield from self._names_digest(quad.subject, message)
        for case in partial:
            for quad in pattern(None, _CASE, case):
                if next(pattern(quad.subject, _DIGEST, None), None) is not None:
                    yield from self._names_digest(quad.subject, message)
        for quad in pattern(None, _REDACTED, None):
            yield from self._names_digest(quad.subject, message)

    def _names_digest(self, node: Any, message: str) -> Iterator[Fault]:
        if next(self._quads.quads_for_pattern(node, _DIGEST, None), None) is not None:
            yield self._fault("unsalted-digest", node, f"{message}its kgb:digest.")
        elif _PLAIN_END.search(str(getattr(node, "value", ""))):
            yield self._fault("unsalted-digest", node, f"{message}the one in its IRI.")

    # --- guesses ----------------------------------------------------------------------------

    def _candidates(self) -> Iterator[str]:
        yield from ("", "true", "false", "null", "[]", "{}")
        yield from map(str, range(_NUMBERS))
        yield from (f"{number / 100:g}" for number in range(101))
        yield from chain.from_iterable(map(_alone, self._words()))
        yield from islice(self._lists(), _LISTS)

    def _texts(self) -> Iterator[str]:
        """The texts of the dumps, and what is in those that are JSON."""
        for quad in self._quads:
            value: Any = quad.object
            if isinstance(value, ox.Literal):
                yield value.value
                if value.datatype.value == RDF.JSON:
                    yield from _strings(parsed(value.value))

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
        """The lists that can be made of the words of short texts, and of the names in long ones."""
        found: set[frozenset[str]] = set()
        for text in self._texts():
            words = [word.strip(".:!?*`_-") for word in _WORD.findall(text[:_LONGEST])]
            for chosen in (words, [word for word in words if word[:1].isupper()]):
                few = frozenset(filter(None, islice(chosen, 10 * _SHORT_LIST)))
                if 1 < len(few) <= _SHORT_LIST:
                    found.add(few)
            if len(found) >= _SETS:
                break
        for few in sorted(found, key=lambda words: (len(words), sorted(words))):
            for length in range(1, len(few) + 1):
                for listed in permutations(sorted(few), length):
                    yield canonical_json(list(listed))
                    yield ", ".join(listed)


def _alone(word: str) -> Iterator[str]:
    """A word as it may stand for itself, as JSON, and as the only one of a list."""
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
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
