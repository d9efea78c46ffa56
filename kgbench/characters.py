# SPDX-License-Identifier: Apache-2.0
"""Escaping of characters that control terminals or that file formats cannot represent.

A byte order mark at the beginning of a text, which some editors write, is no part of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import IO, Any, Final, Protocol

BOM: Final = "\ufeff"
"""The byte order mark, as a character."""
_BOM_BYTES = BOM.encode("utf-8")

# Characters that XML 1.0 (section 2.2, Char) excludes, in UTF-8: C0 controls except tab, line feed
# and carriage return, and the noncharacters U+FFFE and U+FFFF. A carriage return is a character of
# XML, but parsers read a literal one as a line feed (section 2.11).
_NOT_XML = re.compile(rb"[\x00-\x08\x0b-\x1f]|\xef\xbf[\xbe\xbf]")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
_REFERENCE = {b"\r": b"&#13;"}
_LONGEST = 3  # bytes of a noncharacter; up to two of them may end a chunk


class Sink(Protocol):
    """A writable binary stream."""

    def write(self, data: bytes, /) -> object:
        """Write some bytes."""


def without_bom(content: bytes) -> bytes:
    """Return ``content`` without a byte order mark of UTF-8 at its beginning."""
    return content.removeprefix(_BOM_BYTES)


def after_bom(file: IO[bytes]) -> IO[bytes]:
    """Return ``file`` at its beginning, after a byte order mark of UTF-8."""
    file.seek(0)
    if file.read(len(_BOM_BYTES)) != _BOM_BYTES:
        file.seek(0)
    return file


def visible(text: str) -> str:
    r"""Escape everything in ``text`` that could control a terminal; line ends and tabs stay.

    >>> visible("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # fast path for most texts
        return text
    return "".join(
        character if character in "\n\t" or not _is_control(character) else _escaped(character)
        for character in text
    )


def one_line(text: str) -> str:
    r"""Return ``text`` on one line, safe for a terminal.

    >>> one_line("one\ntwo")
    'one\\ntwo'
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def spreadsheet_safe(rows: Iterable[Iterable[object]]) -> tuple[list[list[Any]], int]:
    """Neutralise formulas in ``rows`` of cells; return the rows and the number of changed cells.

    A formula is a text that begins with ``=``, ``+``, ``-``, ``@``, their full-width forms, a tab
    or a line end (OWASP, CSV Injection); a preceding apostrophe makes it text.

    >>> spreadsheet_safe([["=1+1", "1+1", -1]])
    ([["'=1+1", '1+1', -1]], 1)
    """
    safe, changed = [], 0
    for row in rows:
        safe.append(list(row))
        for column, cell in enumerate(safe[-1]):
            if isinstance(cell, str) and cell.startswith(_FORMULA):
                safe[-1][column] = f"'{cell}"
                changed += 1
    return safe, changed


def _is_control(character: str) -> bool:
    # Controls, direction overrides, line separators, surrogates, unassigned: all but printable.
    return not character.isprintable() and unicodedata.category(character) != "Zs"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class XmlSink:
    r"""A stream filter that escapes characters that XML 1.0 excludes, as in a Python string.

    Serialisers write control characters of literals unescaped, which no XML parser accepts.
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
        self._held_back = b""

    def write(self, data: bytes, /) -> int:
        """Write a chunk of a document; its last bytes may be held back until the next chunk."""
        pending = self._held_back + data
        # Hold back only bytes that may be the beginning of a noncharacter cut by the chunk's end.
        keep = next((n for n in range(_LONGEST - 1, 0, -1) if pending.endswith(b"\xef\xbf"[:n])), 0)
        self._held_back = pending[len(pending) - keep :]
        self._sink.write(xml_bytes(pending[: len(pending) - keep]))
        return len(data)

    def flush(self) -> None:
        """Write the bytes that were held back, at the end of the document."""
        self._sink.write(xml_bytes(self._held_back))
        self._held_back = b""


def xml_text(text: str) -> str:
    r"""Escape the characters of a text that XML 1.0 excludes, for a writer that escapes all others.

    >>> xml_text("<a>\x01\r</a>")
    '<a>\\x01\r</a>'
    """
    return "\r".join(xml_bytes(part.encode("utf-8")).decode("utf-8") for part in text.split("\r"))


def encodable(text: str) -> str:
    r"""Escape lone surrogates, which models write and UTF-8 cannot encode, as in JSON.

    >>> encodable("a\ud800")
    'a\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def xml_bytes(document: bytes) -> bytes:
    """Escape the characters of a UTF-8 document that XML 1.0 excludes; see :class:`XmlSink`."""
    return _NOT_XML.sub(_reference, document)


def _reference(match: re.Match[bytes]) -> bytes:
    character = match.group()
    return _REFERENCE.get(character) or character.decode("utf-8").encode("unicode_escape")
