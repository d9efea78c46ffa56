# SPDX-License-Identifier: Apache-2.0
"""Redaction levels: which texts a publication leaves out, and what replaces them.

The levels build on each other: ``none`` leaves out nothing, ``gold`` reference answers, ``prompts``
also the prompts, ``answers`` also the answers. A text is replaced by a commitment to it
(:mod:`kgbench.secrets.commitments`), so that the text can be disclosed later and cannot be guessed
until then.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.rdf import canonical_json
from kgbench.secrets.commitments import Commitments

_LARGEST_TERM = 16_000_000  # bytes in N-Quads; the parser's limit is 16 MiB with what is around it
_LONGEST_ESCAPE = 6  # bytes of \\u0001


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


class Placeholders(NamedTuple):
    """Makes the replacements for the values that are left out at one place."""

    commitments: Commitments
    place: str

    def within(self, name: str) -> Placeholders:
        """Return the seal of a part of this place."""
        return Placeholders(self.commitments, f"{self.place} {name}")

    def value(self, value: Json) -> Json:
        """Return the replacement of a value: a commitment to the text, or to the canonical JSON."""
        text = value if isinstance(value, str) else canonical_json(value)
        return {"commitment": self.commitments.commit(self.place, text)}

    def text(self, text: str) -> str:
        """Return the replacement of a part of a text."""
        return f"[commitment:{self.commitments.commit(self.place, text)}]"


def redacted_case_data(data: Json, level: RedactionLevel, seal: Placeholders) -> Json:
    """Return the data of a case as published at ``level``."""
    if level is RedactionLevel.NONE:
        return data
    if not isinstance(data, dict):
        return seal.value(data)
    kept = public_fields(data, level)
    return {
        name: kept[name] if name in kept else seal.within(name).value(value)
        for name, value in data.items()
    }


def public_fields(data: Json, level: RedactionLevel) -> dict[str, Json]:
    """Return the fields of case data that are published in the clear at ``level``."""
    if not isinstance(data, dict):
        return {}
    if level is RedactionLevel.NONE:
        return data
    kept = _ASKED if level is RedactionLevel.GOLD else _IDENTITY
    return {name: value for name, value in data.items() if name in kept}


def redacted_infos(
    value: Json, level: RedactionLevel, gold: frozenset[str], seal: Placeholders, name: str = ""
) -> Json:
    """Return a judge's notes as published at ``level``; ``gold`` are reference answers."""
    if level is RedactionLevel.NONE or value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {
            key: redacted_infos(part, level, gold, seal.within(key), key)
            for key, part in value.items()
        }
    kept = _JUDGED if level is RedactionLevel.ANSWERS else _ANSWERED
    if name not in kept or contains_gold(value, gold):
        return seal.value(value)
    return value


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


def replace_gold(text: str, gold: frozenset[str], seal: Placeholders) -> str:
    """Return ``text`` with reference answers replaced by commitments."""
    for gold_text in sorted(gold, key=len, reverse=True):
        if gold_text in text:
            text = text.replace(gold_text, seal.text(gold_text))
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
