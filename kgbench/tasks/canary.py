# SPDX-License-Identifier: Apache-2.0
"""The canary: an identifier in every file with prompts or data of tasks, but in no prompt.

Collectors of training texts can exclude files with the canary; a model that can reproduce it was
trained on such files. The canary is declared with the suite of kgbench's own cases
(``ontology/suites.ttl``, property ``kgb:canary``). Other packages may use identifiers of their own.
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
    """Return the identifier of kgbench's own suite."""
    return shipped("ontology", "suites.ttl").required(ox.NamedNode(SUITE), KGB.canary)


def line() -> str:
    """Return the first line of a file with prompts or data (in Turtle after ``# ``)."""
    return f"kgbench canary GUID {guid()}: benchmark data, keep out of training texts"


def without_line(text: str) -> str:
    """Return ``text`` without its first line, if that is a canary."""
    return _LINE.sub("", text, count=1)


def without_key(value: Json) -> Json:
    """Return a JSON value without the canary key, if it is an object with one."""
    if isinstance(value, dict) and _VALUE.match(str(value.get(KEY))):
        return {key: item for key, item in value.items() if key != KEY}
    return value
