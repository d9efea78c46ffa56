# SPDX-License-Identifier: Apache-2.0
"""Rows of answers in a form in which those of different engines can be compared.

Numbers are compared by value to six digits, the precision with which Virtuoso 7 writes a double;
times by value; all blank nodes are equal, whatever their labels.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from kgbench.vocab import XSD

DIGITS = 6
_NUMBERS = {XSD[name] for name in ("double", "float", "decimal", "integer", "int", "long")}
_TEXTS = {XSD.string, "", None}


def rows(content: bytes) -> Counter[tuple[str, ...]]:
    """Return the rows of an answer in SPARQL's JSON as a multiset, without unbound cells."""
    document = json.loads(content)
    names = document["head"]["vars"]
    return Counter(
        tuple(f"{name}={cell(row[name])}" for name in sorted(names) if name in row)
        for row in document["results"]["bindings"]
    )


def cell(term: dict[str, Any]) -> str:
    """Return a term as a text that is equal for equal values.

    >>> cell({"type": "literal", "datatype": XSD.double, "value": "5E-1"})
    '0.5'
    >>> cell({"type": "literal", "datatype": XSD.boolean, "value": "1"})
    'true'
    """
    value, datatype = term["value"], term.get("datatype")
    if term["type"] == "bnode":
        return "_:"
    if term["type"] == "uri":
        return f"<{value}>"
    if datatype in _NUMBERS:
        return _number(float(value))
    if datatype == XSD.boolean:
        return {"0": "false", "1": "true"}.get(value, value)
    if datatype == XSD.dateTime:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat()
    kind = "" if datatype in _TEXTS else f"^^{datatype}"
    language = term.get("xml:lang")
    return json.dumps(value) + kind + (f"@{language}" if language else "")


def _number(value: float) -> str:
    return f"{value:.{DIGITS}g}" if math.isfinite(value) else str(value).upper()
