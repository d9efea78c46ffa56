# SPDX-License-Identifier: Apache-2.0
r"""Templates: text with references in braces; ``\{``, ``\}`` and ``\\`` are escapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Final, NamedTuple
from urllib.parse import quote

from kgbench.mapping.limits import Budget, MappingError

_TOKEN: Final = re.compile(r"\\([{}\\])|[{}\\]|[^{}\\]+")
_ESCAPES: Final = {"\\": "a backslash escapes braces and backslashes only"}
_MISTAKES: Final = (
    {"}": "a closing brace has no opening one", **_ESCAPES},
    {"{": "there is a brace inside of braces", **_ESCAPES},
)
_UNRESERVED: Final = "-._~"
_LETTERS: Final = ((0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF), (0x10000, 0xEFFFD))


class Template(NamedTuple):
    """Pieces of text with a reference between each two adjacent pieces."""

    pieces: tuple[str, ...]
    references: tuple[str, ...]

    def filled(
        self,
        values: Callable[[str], Iterable[str]],
        written: Callable[[str], str],
        budget: Budget,
    ) -> list[str]:
        """Return the texts of a template, one for each combination of the values of its references.

        ``written`` converts each value before insertion.
        """
        columns = [[written(value) for value in values(name)] for name in self.references]
        result = []
        parts = [""] * (len(self.pieces) + len(self.references))
        parts[::2] = self.pieces
        for row in product(*columns):
            parts[1::2] = row
            text = "".join(parts)
            budget.spend("terms")
            budget.spend("characters", len(text))
            result.append(text)
        return result


def parse_template(text: str) -> Template:
    r"""Parse a template.

    >>> parse_template(r"a{b}\{c\}").pieces
    ('a', '{c}')

    Raises :class:`~kgbench.mapping.limits.MappingError` for braces that do not match, empty
    references, and backslashes before other characters.
    """
    parts, is_open = [""], False  # texts and references alternate
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if piece in _MISTAKES[is_open]:
            raise _error(text, _MISTAKES[is_open][piece])
        if piece in "{}":
            if is_open and not parts[-1]:
                raise _error(text, "there is nothing between the braces")
            is_open = not is_open
            parts.append("")
        else:
            parts[-1] += match[1] or piece
    if is_open:
        raise _error(text, "a brace is not closed")
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


def encode_for_iri(value: str) -> str:
    """Percent-encode all characters of a value except those unreserved in IRIs (RFC 3987).

    >>> encode_for_iri("Zoë/K")
    'Zoë%2FK'
    """
    if value.isascii():
        return encode_for_uri(value)
    return "".join(c if _is_letter(c) else encode_for_uri(c) for c in value)


def encode_for_uri(value: str) -> str:
    """Percent-encode all characters of a value except those unreserved in URIs (RFC 3986)."""
    return quote(value, safe=_UNRESERVED)


def _is_letter(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _LETTERS)


def _error(text: str, reason: str) -> MappingError:
    return MappingError(f'the template "{text[:200]}" is ill-formed: {reason}')
