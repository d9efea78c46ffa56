# SPDX-License-Identifier: Apache-2.0
"""Lists of records in JSON and XML files: flat objects in an array, elements below a root."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

from kgbench.mapping.limits import MappingError

JSON, XML = "json", "xml"
_NAME: Final = re.compile(r"[^\W\d][\w-]*")


class Listing(NamedTuple):
    """The records that one iterator selects from a file, as texts by name."""

    file: str
    form: str
    iterator: str
    records: tuple[Mapping[str, str], ...]

    def path(self, name: str) -> str:
        """Return the reference to a value in a mapping."""
        return f"$.{name}" if self.form == JSON else name


def listings(file: str, form: str, text: str) -> list[Listing]:
    """Return the listings of a file, without values that are not single texts and unusable names.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the file is not in the format or has a
    document type declaration.
    """
    try:
        rows_by_iterator = _of_json(text) if form == JSON else _of_xml(text)
    except (ValueError, RecursionError, ET.ParseError) as error:
        raise MappingError(f"{file} cannot be read: {error}") from error
    return [
        Listing(file, form, iterator, tuple(_usable_values(row) for row in rows))
        for iterator, rows in rows_by_iterator.items()
    ]


def _usable_values(row: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if value and _NAME.fullmatch(name)}


def _of_json(text: str) -> dict[str, list[dict[str, str]]]:
    # Numbers keep their lexical form.
    document = json.loads(text, parse_int=str, parse_float=str)
    if not isinstance(document, dict):
        return {}
    return {
        f"$.{name}[*]": [dict(_texts(row)) for row in rows if isinstance(row, dict)]
        for name, rows in document.items()
        if isinstance(rows, list) and _NAME.fullmatch(name)
    }


def _texts(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in row.items() if isinstance(value, str))


def _of_xml(text: str) -> dict[str, list[dict[str, str]]]:
    if "<!DOCTYPE" in text:
        raise ValueError("it has a document type declaration")
    root = ET.fromstring(text)  # noqa: S314 - no DTD, so no entities
    rows_by_iterator: dict[str, list[dict[str, str]]] = {}
    for row in root:
        if _NAME.fullmatch(root.tag) and _NAME.fullmatch(row.tag):
            counts = Counter(cell.tag for cell in row)
            cells = {x.tag: x.text or "" for x in row if not len(x) and counts[x.tag] == 1}
            rows_by_iterator.setdefault(f"/{root.tag}/{row.tag}", []).append(cells)
    return rows_by_iterator
