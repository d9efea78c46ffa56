# SPDX-License-Identifier: Apache-2.0
"""What Virtuoso does otherwise than SPARQL 1.1 and the XSD datatypes say.

* It writes doubles with six digits, ``nan`` and ``inf``: they are queried again as text.
* It writes booleans as 0 and 1.
* It truncates results at a limit of rows or time, with a status of success and a header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kgbench.api import XSD, ServerQuirks
from kgbench.store.quirks import Again, lexical

MARK = "__exact"
"""The ending of the names of columns that are added to a query."""
_EXACT = f"(IF(DATATYPE(?%s) = <{XSD.double}>, bif:sprintf('%%.17g', ?%s), '') AS ?%s{MARK})"
_TYPED = re.compile(rb"XMLSchema#(?:boolean|double|float)")
_DIGIT = re.compile(r"\d")


class Virtuoso(ServerQuirks):
    """The quirks of Virtuoso 7."""

    truncating = ("X-SPARQL-MaxRows", "X-SQL-State", "X-Exec-Partial")
    limit = "its limit of rows or time (Virtuoso: ResultSetMaxRows)"
    rounds = True

    def is_sender(self, headers: Mapping[str, str]) -> bool:
        """Return whether the server says its name, or has truncated its answer as Virtuoso does."""
        marks = {name.lower() for name in self.truncating}
        return headers.get("server", "").startswith("Virtuoso") or not marks.isdisjoint(headers)

    def corrected(self, content: bytes, again: Again) -> bytes:
        """Return JSON results with doubles of all digits, and with booleans as XSD writes them."""
        if _TYPED.search(content) is None:
            return content
        document = json.loads(content)
        if names := rounded(document):
            columns = [_EXACT % (name, name, name) for name in names]
            document = again(document["head"]["vars"], columns)
            exact(document, names)
        tidy(document)
        return json.dumps(document).encode()


def rounded(document: Mapping[str, Any]) -> list[str]:
    """Return the variables with finite doubles, which the server may have rounded.

    The text does not show it: with six digits, 1.0000000000000002 is written as 1.
    """
    names = set()
    for row in document["results"]["bindings"]:
        for name, cell in row.items():
            is_double = name not in names and cell.get("datatype") == XSD.double
            if is_double and _DIGIT.search(cell["value"]):
                names.add(name)
    return sorted(names)


def exact(document: Mapping[str, Any], names: Sequence[str]) -> None:
    """Replace rounded doubles by the values of the added columns, in place."""
    for row in document["results"]["bindings"]:
        for name in names:
            text = row.pop(name + MARK, {}).get("value")
            if text and row.get(name, {}).get("datatype") == XSD.double:
                row[name]["value"] = text
    heads = document["head"]["vars"]
    heads[:] = [name for name in heads if not name.endswith(MARK)]


def tidy(document: Mapping[str, Any]) -> None:
    """Correct the lexical forms of booleans, doubles and floats, in place."""
    for row in document["results"]["bindings"]:
        for cell in row.values():
            datatype = cell.get("datatype")
            if datatype == XSD.boolean:
                cell["value"] = {"0": "false", "1": "true"}.get(cell["value"], cell["value"])
            elif datatype in (XSD.double, XSD.float):
                cell["value"] = lexical(cell["value"])
