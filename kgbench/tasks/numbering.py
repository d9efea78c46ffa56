# SPDX-License-Identifier: Apache-2.0
"""Numbers for the names in a graph, so that nothing can be guessed from the names.

Graph, queries and result sets are translated by the same table; names of rdf and rdfs are kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

_PREFIXES = ("", "foaf", "org", "vcard")
_TOKEN = re.compile(
    r"""(?P<kept>"(?:[^"\\\n]|\\.)*"|<[^<>\s]*>|\#[^\n]*|\?\w+)"""
    r"|(?P<prefix>[A-Za-z]*):(?P<local>[A-Za-z][\w-]*)"
)


def translate_names(text: str, numbers: Mapping[str, str]) -> str:
    """Replace the prefixed names in Turtle, a query or a value by those in ``numbers``.

    >>> translate_names('SELECT ?x { :bob foaf:name ?x }', {":bob": ":1234"})
    'SELECT ?x { :1234 foaf:name ?x }'
    """

    def replaced(match: re.Match[str]) -> str:
        return match[0] if match["kept"] else numbers.get(match[0], match[0])

    return _TOKEN.sub(replaced, text)


@lru_cache(maxsize=8)
def number_names(
    turtle: str, prefixes: tuple[str, ...] = _PREFIXES, salt: str = ""
) -> dict[str, str]:
    """Return a number of four digits for each prefixed name of a Turtle text, by name.

    Only names with one of the ``prefixes`` get one. The number is a hash of ``salt`` and the name;
    if two names collide, the later one in alphabetical order gets the next free number.
    """
    names = {
        match[0]
        for match in _TOKEN.finditer(turtle)
        if not match["kept"] and match["prefix"] in prefixes
    }
    used_numbers: set[int] = set()
    numbers = {}
    for name in sorted(names):
        number = int.from_bytes(hashlib.sha256(f"{salt}{name}".encode()).digest()[:8]) % 9000
        while number in used_numbers:
            number = (number + 1) % 9000
        used_numbers.add(number)
        numbers[name] = f"{name.partition(':')[0]}:{number + 1000}"
    return numbers


def table(numbers: Mapping[str, str]) -> str:
    """Return the numbers with the names that they replace, as CSV with the columns id and label."""
    rows = [f"{number},{name.partition(':')[2]}" for name, number in numbers.items()]
    return "\n".join(["id,label", *sorted(rows, key=lambda row: row.partition(",")[2].lower())])
