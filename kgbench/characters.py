# SPDX-License-Identifier: Apache-2.0
"""Characters that terminals obey and formats cannot carry, written out visibly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Protocol

# What XML 1.0 (section 2.2, Char) leaves out, in UTF-8: C0 controls but tab, line feed and carriage
# return, and the two noncharacters U+FFFE and U+FFFF. A carriage return is a character of XML, but
# parsers read a literal one as a line feed (section 2.11).
_NOT_XML = re.compile(rb"[\x00-\x08\x0b-\x1f]|\xef\xbf[\xbe\xbf]")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
_REFERENCE = {b"\r": b"&#13;"}
_LONGEST = 3  # bytes of what is sought: so many less one may stand at the end of a piece


class Sink(Protocol):
    """What takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Take some bytes."""


def visible(text: str) -> str:
    r"""``text`` with everything that could steer a terminal made visible; line ends and tabs stay.

    >>> visible("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # by far the most texts
        return text
    return "".join(
        character if character in "\n\t" or not _steers(character) else _escaped(character)
        for character in text
    )


def one_line(text: str) -> str:
    r"""``text`` on one line, safe for a terminal.

    >>> one_line("one\ntwo")
    'one\\ntwo'
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def spreadsheet_safe(rows: Iterable[Iterable[object]]) -> tuple[list[list[Any]], int]:
    """``rows`` of cells without formulas of a spreadsheet, and how many cells were changed.

    A formula is a text that begins with ``=``, ``+``, ``-``, ``@``, their full-width forms, a tab
    or a line end (OWASP, CSV Injection); an apostrophe before it makes it text.

    >>> spreadsheet_safe([["=1+1", "1+1", -1]])
    ([["'=1+1", '1+1', -1]], 1)
    """
    safe, changed = [], 0
    for row in rows:
        safe.append(list(row))
        for place, cell in enumerate(safe[-1]):
            if isinstance(cell, str) and cell.startswith(_FORMULA):
                safe[-1][place] = f"'{cell}"
                changed += 1
    return safe, changed


def _steers(character: str) -> bool:
    # Controls, direction overrides, line separators, surrogates, unassigned: all but what prints.
    return not character.isprintable() and unicodedata.category(character) != "Zs"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class XmlSink:
    r"""Passes XML on to a sink, with what XML 1.0 cannot carry escaped as in a Python string.

    Serialisers write control characters of literals as they are, which no XML parser reads.
    Carriage returns become character references, so that parsers do not read them as line feeds.

    >>> import io
    >>> out = io.BytesIO()
    >>> sink = XmlSink(out)
    >>> sink.write(b"<a>\x01\r</a>")
    9
    >>> sink.flush()
    >>> out.getvalue()
    b'<a>\\x01&#13;</a>'
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rest = b""

    def write(self, data: bytes, /) -> int:
        """Take a piece of a document, all of it; its last bytes may wait for the next piece."""
        whole = self._rest + data
        # Only the beginning of a noncharacter may have to wait: see whether one is cut in two.
        keep = next((n for n in range(_LONGEST - 1, 0, -1) if whole.endswith(b"\xef\xbf"[:n])), 0)
        self._rest = whole[len(whole) - keep :]
        self._sink.write(xml_bytes(whole[: len(whole) - keep]))
        return len(data)

    def flush(self) -> None:
        """Pass on what waits: the document has ended, or what follows is not part of it."""
        self._sink.write(xml_bytes(self._rest))
        self._rest = b""


def xml_bytes(document: bytes) -> bytes:
    """A document in UTF-8 with what XML 1.0 cannot carry written out; see :class:`XmlSink`."""
    return _NOT_XML.sub(_reference, document)


def _reference(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return _REFERENCE.get(found) or found.decode("utf-8").encode("unicode_escape")
