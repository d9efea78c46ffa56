# SPDX-License-Identifier: Apache-2.0
"""The canary: an identifier in every file with prompts or data of tasks, and in no prompt.

Whoever collects training texts can leave out what carries it; a model that knows it has read
them. It is declared with the suite of kgbench's own cases (``ontology/suites.ttl``, the property
``kgb:canary``). Other packages may mark their files with an identifier of their own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.rdf.declared import shipped
from kgbench.vocab import BASE, KGB

SUITE: Final = f"{BASE}suite/kgbench-1"
KEY: Final = "canary"  # in JSON files, which have no comments

_MARK = r"kgbench canary GUID [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
_LINE = re.compile(rf"\A(?:# )?{_MARK}[^\n]*\n")
_VALUE = re.compile(_MARK)


@cache
def guid() -> str:
    """The identifier of kgbench's own suite."""
    return shipped("ontology", "suites.ttl").required(ox.NamedNode(SUITE), KGB.canary)


def line() -> str:
    """The line that a file with prompts or data begins with (in Turtle after ``# ``)."""
    return f"kgbench canary GUID {guid()}: benchmark data, keep out of training texts"


def without_line(text: str) -> str:
    """``text`` without a canary in its first line."""
    return _LINE.sub("", text, count=1)


def without_key(value: Json) -> Json:
    """A JSON value without a canary among the keys of an object."""
    if isinstance(value, dict) and _VALUE.match(str(value.get(KEY))):
        return {key: each for key, each in value.items() if key != KEY}
    return value
