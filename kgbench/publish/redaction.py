# SPDX-License-Identifier: Apache-2.0
"""Redaction levels, which say what texts a publication leaves out, and the IRIs that it has.

The levels build on each other: ``none`` leaves out nothing, ``gold`` reference answers, ``prompts``
also the prompts, ``answers`` also the answers. Nothing that depends on a value replaces it, so that
no guess can be confirmed.

Recorded things (runs, passes, analyses ...) move from the base of the store to that of the
publication. Things that are declared, or identified by their content (the vocabulary, metrics,
tasks, cases, models), keep their IRIs, so that results of several groups can be combined.

An IRI may contain the digest of a text, or of data with parts that are left out. Guesses can be
compared with it, as with the digest itself. In a publication that leaves anything out, such digests
are veiled: those of dialogues, configurations and texts that are left out are replaced by keyed
digits (an HMAC under the key of the store). A ``w`` before the digits marks them.

Cases with data that are left out in part get the digest of the published part. So equal cases of
several groups stay equal. If several cases of a store differ only in what is left out, their digits
depend on the key, and differ from those of other groups.

>>> where = Addresses("https://w3id.org/kgbench/", "https://example.org/bench/", runs={})
>>> where.published("https://w3id.org/kgbench/run/0199")
'https://example.org/bench/run/0199'
>>> where.published("https://w3id.org/kgbench/metric/Text2KG/1/f1")
'https://w3id.org/kgbench/metric/Text2KG/1/f1'
>>> where.published("https://w3id.org/kgbench/run/0199/oracle/Spell/0-d1d1d1d1/0/answer")
'https://example.org/bench/run/0199/oracle/Spell#0-d1d1d1d1-0-answer'
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.quads import Quads
from kgbench.store import fragments
from kgbench.store.publication_keys import VEILED, PublicationKey
from kgbench.vocab import BASE, KGB, RDF

_LARGEST_TERM = 16_000_000  # bytes in N-Quads; the parser's limit is 16 MiB with what is around it
_MOST_KEPT = 2_000  # cases whose reference answers are in memory
_CASE, _CASE_DATA = ox.NamedNode(KGB.case), ox.NamedNode(KGB.caseData)
_LONGEST_ESCAPE = 6  # bytes of \\u0001
RECORDED = frozenset(
    (
        "run",
        "pass",
        "analysis",
        "invalidation",
        "import",
        "software",
        "graph",
        "agent",
        "reviewer",
        "tool-server",
    )
)
_DIALOGUE = re.compile(r"(\d+-)([0-9a-f]{8})(\.\d+)?")
_IN_TEXT = re.compile(r"(?<=/)(\d+-)([0-9a-f]{8})(?![0-9A-Za-z-])")
_DIGITS = re.compile(r"(?:[0-9a-f]{2}){4,32}")
_PLACE = 4  # index of a dialogue in the path below the base: run/ID/MODEL/LABEL/DIALOGUE
_CASE_DIGITS = 12


class RedactionLevel(IntEnum):
    """How much is left out of a publication."""

    NONE = 0
    GOLD = 1
    PROMPTS = 2
    ANSWERS = 3


# Fields of case data that are not reference answers. All other fields count as reference answers,
# because task classes of other packages have field names that are not known here.
_IDENTITY = frozenset(
    (
        "uid",
        "taskUid",
        "graphFormat",
        "kgInfoFormat",
        "kgInfoType",
        "graphName",
        "version",
    )
)
_ASKED = _IDENTITY | frozenset(
    (
        "question",
        "claim",
        "task",
        "testSparql",
        "errorMessage",
        "sentence",
        "sheet",
        "ontology",
        "examples",
        "graph",
        "graphTurtle",
        "subGraph",
        "subSchema",
        "schema",
        "entityHelpCsv",
        "prefixes",
        "n",
        "knowsCount",
        "iris",
        "entityLabelMapping",
        "lsqFeatures",
        "tools",
        "multishotLimit",
        "multishotResultLimit",
        "multishotSyntaxLimit",
    )
)
# Fields of judges' notes that derive from the answer only. Numbers and booleans are always kept.
_JUDGED = frozenset(("testUid", "taskUid", "limit"))
_ANSWERED = _JUDGED | frozenset(
    (
        "sparql",
        "rdfString",
        "answerSet",
        "answerSetWhole",
        "personsInAnswer",
        "facts",
        "parseError",
        "parseErrorPrefix",
        "parseErrorUnexpected",
        "syntaxError",
        "EvaluationException",
    )
)
_LONG = 8  # characters; shorter texts occur by chance
WITHHELD = "[withheld]"
"""What replaces a part of a message."""


def public_fields(data: Json, level: RedactionLevel) -> Json:
    """Return the fields of case data that are published at ``level``."""
    if level is RedactionLevel.NONE:
        return data
    if not isinstance(data, dict):
        return {}
    kept = _ASKED if level is RedactionLevel.GOLD else _IDENTITY
    return {name: value for name, value in data.items() if name in kept}


def redacted_infos(value: Json, level: RedactionLevel, gold: frozenset[str]) -> Json:
    """Return a judge's notes as published at ``level``; ``gold`` are reference answers."""
    if level is RedactionLevel.NONE or _says_nothing(value):
        return value
    if not isinstance(value, dict):
        return {}
    kept = _JUDGED if level is RedactionLevel.ANSWERS else _ANSWERED
    return {
        name: redacted_infos(part, level, gold) if isinstance(part, dict) else part
        for name, part in value.items()
        if isinstance(part, dict)
        or _says_nothing(part)
        or (name in kept and not contains_gold(part, gold))
    }


def _says_nothing(value: Json) -> bool:
    return value is None or isinstance(value, bool | int | float)


def gold_texts(data: Json) -> frozenset[str]:
    """Return the texts of reference answers in case data that are long enough to be recognised."""
    asked_fields = _ASKED if isinstance(data, dict) else ()
    fields = data.items() if isinstance(data, dict) else [("", data)]
    return frozenset(
        text
        for name, value in fields
        if name not in asked_fields
        for text in _texts(value)
        if len(text) >= _LONG
    )


def contains_gold(value: Json, gold: frozenset[str]) -> bool:
    """Return whether ``value`` contains a reference answer."""
    return any(gold_text in text for text in _texts(value) for gold_text in gold)


def without_gold(text: str, gold: frozenset[str]) -> str:
    """Return ``text`` without reference answers."""
    for gold_text in sorted(gold, key=len, reverse=True):
        text = text.replace(gold_text, WITHHELD)
    return text


def is_unreadable(text: str) -> bool:
    """Return whether pyoxigraph, and so every kgbench, refuses to parse a literal with ``text``."""
    if len(text) * _LONGEST_ESCAPE <= _LARGEST_TERM:
        return False
    return len(str(ox.Literal(text)).encode("utf-8", "surrogatepass")) > _LARGEST_TERM


def parse_json(text: str) -> Json:
    """Parse the JSON of a literal; a text that is not JSON is returned unchanged."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return []


class ReferenceAnswers:
    """The reference answers in a database, with a cache."""

    def __init__(self, database: Quads) -> None:
        self._database = database
        self._of_case: dict[str, frozenset[str]] = {}
        self._all: frozenset[str] | None = None

    def of_case(self, evaluation: Any) -> frozenset[str]:
        """Return the reference answers of the case of an evaluation; without one, of all cases."""
        for quad in self._database.quads_for_pattern(evaluation, _CASE, None):
            case: Any = quad.object
            answers = self._of_case.get(case.value)
            if answers is None:
                if len(self._of_case) >= _MOST_KEPT:
                    self._of_case.clear()
                answers = self._of_case[case.value] = self._in_data_of(case)
            return answers
        return self.all()

    def all(self) -> frozenset[str]:
        """Return the reference answers of all cases."""
        if self._all is None:
            self._all = self._in_data_of(None)
        return self._all

    def _in_data_of(self, case: Any) -> frozenset[str]:
        quads = self._database.quads_for_pattern(case, _CASE_DATA, None)
        return frozenset().union(*(gold_texts(parse_json(quad.object.value)) for quad in quads))


@dataclass(frozen=True, slots=True)
class DigestVeil:
    """Veils digests, also in paths below the base of a store.

    ``cases`` has other digests for cases with data that are left out, by their paths.
    """

    key: PublicationKey
    cases: Mapping[str, str] = field(default_factory=dict)

    def path(self, rest: str) -> str:
        """Return a path with the digests of cases, dialogues and configurations veiled."""
        if rest in self.cases:
            return f"{rest.rpartition('/')[0]}/{VEILED}{self.cases[rest][:_CASE_DIGITS]}"
        rest, hash_, fragment = rest.partition("#")
        parts = rest.split("/")
        if parts[0] == "run" and len(parts) == _PLACE and parts[2] == "configuration":
            parts[3] = self.digits(parts[3])
        elif parts[0] in ("run", "pass") and len(parts) > _PLACE:
            match = _DIALOGUE.fullmatch(parts[_PLACE])
            if match is not None:
                first, digits, again = match.groups(default="")
                parts[_PLACE] = f"{first}{self.digits(digits)}{again}"
        return "/".join(parts) + hash_ + fragment

    def digest(self, rest: str, value: str) -> str:
        """Return the published digest of a resource (its path) that has the digest ``value``."""
        return self.cases[rest] if rest in self.cases else self.key.tag("digest", value)

    def within(self, text: str) -> str:
        """Return a text in which the digests in paths of dialogues are veiled."""
        return _IN_TEXT.sub(lambda match: match[1] + self.digits(match[2]), text)

    def digits(self, digits: str) -> str:
        """Return the veiled form of ``digits``; anything but a digest is returned unchanged."""
        return VEILED + _veiled(self.key, digits) if _DIGITS.fullmatch(digits) else digits


@lru_cache(maxsize=50_000)
def _veiled(key: PublicationKey, digits: str) -> str:
    return key.tag("veil", digits)[: len(digits)]


def cases(database: ox.Store, level: RedactionLevel, key: PublicationKey) -> dict[str, str]:
    """Return the new digests of cases that are left out in part at ``level``, by their paths."""
    if level is RedactionLevel.NONE:
        return {}
    pattern: Any = database.quads_for_pattern
    published: dict[str, str] = {}
    for case in pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Case)):
        properties = {
            quad.predicate.value: str(getattr(quad.object, "value", ""))
            for quad in pattern(case.subject, None, None)
        }
        iri = str(getattr(case.subject, "value", ""))
        data = parse_json(properties.get(KGB.caseData, "{}"))
        kept = public_fields(data, level)
        if kept != data:
            content = [
                iri.rpartition("/")[0],
                properties.get(KGB.parameters, "{}"),
                canonical_json(kept),
            ]
            published[iri] = digest(canonical_json(content))
    counts = Counter(published.values())
    return {
        iri.removeprefix(BASE): digest_ if counts[digest_] == 1 else key.tag("case", iri)
        for iri, digest_ in published.items()
    }


@dataclass(frozen=True)
class Addresses:
    """Maps IRIs of a store to published IRIs.

    ``renamed`` has replacements for path segments that would reveal what is not published, such as
    the host in the name of a model. ``veil`` replaces digests of what is left out. ``runs`` has the
    run (IRI in the store) of each evaluation pass. Without it parts keep their paths, as in
    exports, which have no documents.
    """

    store: str
    base: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    veil: DigestVeil | None = None
    runs: Mapping[str, str] | None = None

    def published(self, iri: str) -> str:
        """Return the published form of ``iri``."""
        return self.within(self.rebase(iri))

    def within(self, iri: str) -> str:
        """Return the IRI of a part (below the published base) as a fragment of its document."""
        return iri if self.runs is None else fragments.published_iri(iri, self._runs)

    @cached_property
    def _runs(self) -> dict[str, str]:
        return {self.rebase(pass_): self.rebase(run) for pass_, run in (self.runs or {}).items()}

    def rebase(self, iri: str) -> str:
        """Return ``iri`` with the base under which it is published."""
        if not iri.startswith(self.store):
            # Cases have IRIs below the base of kgbench in every store.
            return BASE + self._public_path(iri[len(BASE) :]) if iri.startswith(BASE) else iri
        rest = self._public_path(iri[len(self.store) :])
        first = rest.partition("/")[0]
        return (self.base if first in RECORDED else self.store) + rest

    def hides(self, iri: str) -> bool:
        """Return whether the recorded form of ``iri`` would reveal what is not published."""
        rest = self._rest(iri)
        return self._public_path(rest) != rest

    def digest(self, iri: str, value: str) -> str:
        """Return the published digest of a resource that has the digest ``value``."""
        return value if self.veil is None else self.veil.digest(self._rest(iri), value)

    def _rest(self, iri: str) -> str:
        return iri.removeprefix(self.store if iri.startswith(self.store) else BASE)

    def _public_path(self, rest: str) -> str:
        """Return the published form of a path below the base of the store."""
        if self.renamed:
            rest = "/".join(self.renamed.get(part, part) for part in rest.split("/"))
        return rest if self.veil is None else self.veil.path(rest)
