# SPDX-License-Identifier: Apache-2.0
"""Redaction levels: which texts a publication leaves out.

The levels build on each other: ``none`` leaves out nothing, ``gold`` reference answers, ``prompts``
also the prompts, ``answers`` also the answers. Nothing that depends on a value replaces it, so that
no guess can be confirmed.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.rdf.quads import Quads
from kgbench.vocab import KGB

_LARGEST_TERM = 16_000_000  # bytes in N-Quads; the parser's limit is 16 MiB with what is around it
_MOST_KEPT = 2_000  # cases whose reference answers are in memory
_CASE, _CASE_DATA = ox.NamedNode(KGB.case), ox.NamedNode(KGB.caseData)
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
