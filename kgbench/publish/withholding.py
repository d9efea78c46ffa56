# SPDX-License-Identifier: Apache-2.0
"""Leaving texts out of a publication: which, at which level, and what stays in their places.

The levels build on each other: ``none`` leaves out nothing, ``gold`` reference answers, ``prompts``
also what models were asked, ``answers`` also what they answered. In place of a text stays a
commitment to it (:mod:`kgbench.secrets.commitments`), so that the text can be disclosed later and
nobody can guess it until then.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import NamedTuple

from kgbench.model import Json
from kgbench.rdf import canonical_json
from kgbench.secrets.commitments import Commitments


class Level(IntEnum):
    """How much is left out."""

    NONE = 0
    GOLD = 1
    PROMPTS = 2
    ANSWERS = 3


# What case data hold that is no reference answer. All else is taken for one: task classes of other
# packages have names of their own.
_IDENTITY = frozenset(
    (*("uid", "taskUid", "graphFormat", "kgInfoFormat", "kgInfoType", "graphName", "version"),)
)
_ASKED = _IDENTITY | frozenset(
    (
        *(
            "question",
            "claim",
            "task",
            "testSparql",
            "errorMessage",
            "sentence",
            "sheet",
            "ontology",
            "examples",
        ),
        *("graph", "graphTurtle", "subGraph", "subSchema", "schema", "entityHelpCsv", "prefixes"),
        *("n", "knowsCount", "iris", "entityLabelMapping", "lsqFeatures"),
        *("tools", "multishotLimit", "multishotResultLimit", "multishotSyntaxLimit"),
    )
)
# What judges note that comes from the answer alone. Numbers and truth values are always kept.
_JUDGED = frozenset(("testUid", "taskUid", "limit"))
_ANSWERED = _JUDGED | frozenset(
    (
        *("sparql", "rdfString", "answerSet", "answerSetWhole", "personsInAnswer", "facts"),
        *("parseError", "parseErrorPrefix", "parseErrorUnexpected", "syntaxError"),
        "EvaluationException",
    )
)
_LONG = 8  # characters; what is shorter occurs by chance


class Seal(NamedTuple):
    """Makes what stands for the values that are left out in one place."""

    commitments: Commitments
    place: str

    def within(self, name: str) -> Seal:
        """The seal of a part of this place."""
        return Seal(self.commitments, f"{self.place} {name}")

    def value(self, value: Json) -> Json:
        """What stands for a value: a commitment to a text as it is, else to its canonical JSON."""
        text = value if isinstance(value, str) else canonical_json(value)
        return {"commitment": self.commitments.commit(self.place, text)}

    def text(self, text: str) -> str:
        """What stands for a part of a text."""
        return f"[commitment:{self.commitments.commit(self.place, text)}]"


def case_data(data: Json, level: Level, seal: Seal) -> Json:
    """The data of a case as they are published at ``level``."""
    if level is Level.NONE:
        return data
    if not isinstance(data, dict):
        return seal.value(data)
    kept = public(data, level)
    return {
        name: kept[name] if name in kept else seal.within(name).value(value)
        for name, value in data.items()
    }


def public(data: Json, level: Level) -> dict[str, Json]:
    """What is published in the clear, at ``level``, of the data of a case."""
    if not isinstance(data, dict):
        return {}
    if level is Level.NONE:
        return data
    kept = _ASKED if level is Level.GOLD else _IDENTITY
    return {name: value for name, value in data.items() if name in kept}


def infos(value: Json, level: Level, gold: frozenset[str], seal: Seal, name: str = "") -> Json:
    """What a judge noted, as published at ``level``; ``gold`` are reference answers of the case."""
    if level is Level.NONE or value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {key: infos(each, level, gold, seal.within(key), key) for key, each in value.items()}
    kept = _JUDGED if level is Level.ANSWERS else _ANSWERED
    if name not in kept or holds(value, gold):
        return seal.value(value)
    return value


def gold_texts(data: Json) -> frozenset[str]:
    """The texts among the reference answers in the data of a case that are long enough to tell."""
    asked = _ASKED if isinstance(data, dict) else ()
    told = data.items() if isinstance(data, dict) else [("", data)]
    return frozenset(
        text
        for name, value in told
        if name not in asked
        for text in _texts(value)
        if len(text) >= _LONG
    )


def holds(value: Json, gold: frozenset[str]) -> bool:
    """Whether a reference answer stands in ``value``."""
    return any(one in text for text in _texts(value) for one in gold)


def without(text: str, gold: frozenset[str], seal: Seal) -> str:
    """``text`` with commitments to reference answers in their places."""
    for one in sorted(gold, key=len, reverse=True):
        if one in text:
            text = text.replace(one, seal.text(one))
    return text


def parsed(text: str) -> Json:
    """JSON from a literal; what is no JSON is a text."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return []
