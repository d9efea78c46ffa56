# SPDX-License-Identifier: Apache-2.0
"""The organisational graph with numbers for names, so that nothing can be guessed from them.

Graph, queries and result sets are translated by the same table; rdf and rdfs keep their names.
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


def translated(text: str, numbers: Mapping[str, str]) -> str:
    """Turtle, a query or a value with its prefixed names replaced by those of ``numbers``.

    >>> translated('SELECT ?x { :bob foaf:name ?x }', {":bob": ":1234"})
    'SELECT ?x { :1234 foaf:name ?x }'
    """

    def replaced(match: re.Match[str]) -> str:
        return match[0] if match["kept"] else numbers.get(match[0], match[0])

    return _TOKEN.sub(replaced, text)


@lru_cache(maxsize=8)
def numbered(turtle: str, prefixes: tuple[str, ...] = _PREFIXES, salt: str = "") -> dict[str, str]:
    """A number of four digits for each prefixed name of a Turtle text, by that name.

    Only names with the ``prefixes`` have one. Made from ``salt`` and the name alone by a hash;
    where two names meet, the later one in alphabetical order takes the next free number.
    """
    names = {
        match[0]
        for match in _TOKEN.finditer(turtle)
        if not match["kept"] and match["prefix"] in prefixes
    }
    taken: set[int] = set()
    found = {}
    for name in sorted(names):
        number = int.from_bytes(hashlib.sha256(f"{salt}{name}".encode()).digest()[:8]) % 9000
        while number in taken:
            number = (number + 1) % 9000
        taken.add(number)
        found[name] = f"{name.partition(':')[0]}:{number + 1000}"
    return found


def table(numbers: Mapping[str, str]) -> str:
    """The numbers with the names they stand for, as CSV with the columns id and label."""
    rows = [f"{number},{name.partition(':')[2]}" for name, number in numbers.items()]
    return "\n".join(["id,label", *sorted(rows, key=lambda row: row.partition(",")[2].lower())])
