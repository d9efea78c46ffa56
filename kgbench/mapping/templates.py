# SPDX-License-Identifier: Apache-2.0
r"""Templates: text with references in braces; ``\{``, ``\}`` and ``\\`` stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Final, NamedTuple
from urllib.parse import quote

from kgbench.mapping.limits import Budget, MappingError

_TOKEN: Final = re.compile(r"\\([{}\\])|[{}\\]|[^{}\\]+")
_ESCAPES: Final = {"\\": "a backslash escapes braces and backslashes only"}
_WRONG: Final = (
    {"}": "a closing brace has no opening one", **_ESCAPES},
    {"{": "there is a brace inside of braces", **_ESCAPES},
)
_UNRESERVED: Final = "-._~"
_LETTERS: Final = ((0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF), (0x10000, 0xEFFFD))


class Template(NamedTuple):
    """Pieces of text, with a reference between each two of them."""

    pieces: tuple[str, ...]
    references: tuple[str, ...]

    def filled(
        self,
        values: Callable[[str], Iterable[str]],
        written: Callable[[str], str],
        budget: Budget,
    ) -> list[str]:
        """The texts that a template makes, one for each combination of the references' ``values``.

        ``written`` changes each value before it is put in.
        """
        columns = [[written(value) for value in values(name)] for name in self.references]
        found = []
        parts = [""] * (len(self.pieces) + len(self.references))
        parts[::2] = self.pieces
        for row in product(*columns):
            parts[1::2] = row
            text = "".join(parts)
            budget.spend("terms")
            budget.spend("characters", len(text))
            found.append(text)
        return found


def parsed(text: str) -> Template:
    r"""Read a template.

    >>> parsed(r"a{b}\{c\}").pieces
    ('a', '{c}')

    Raises :class:`~kgbench.mapping.limits.MappingError` for braces that do not match, empty
    references, and backslashes before other characters.
    """
    parts, opened = [""], False  # text and references in turn
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if mark in _WRONG[opened]:
            raise _wrong(text, _WRONG[opened][mark])
        if mark in "{}":
            if opened and not parts[-1]:
                raise _wrong(text, "there is nothing between the braces")
            opened = not opened
            parts.append("")
        else:
            parts[-1] += match[1] or mark
    if opened:
        raise _wrong(text, "a brace is not closed")
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


def encoded(value: str) -> str:
    """A value as part of an IRI: what is not unreserved in IRIs is percent-encoded (RFC 3987).

    >>> encoded("Zoë/K")
    'Zoë%2FK'
    """
    if value.isascii():
        return encoded_as_uri(value)
    return "".join(one if _is_letter(one) else encoded_as_uri(one) for one in value)


def encoded_as_uri(value: str) -> str:
    """A value as part of a URI: what is not unreserved in URIs is percent-encoded (RFC 3986)."""
    return quote(value, safe=_UNRESERVED)


def _is_letter(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _LETTERS)


def _wrong(text: str, why: str) -> MappingError:
    return MappingError(f'the template "{text[:200]}" is ill-formed: {why}')
