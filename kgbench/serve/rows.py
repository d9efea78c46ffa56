# SPDX-License-Identifier: Apache-2.0
r"""Writing of rows within limits: they are counted in the bytes of an answer while it is written.

The engine serialises natively; passing each row through Python to count it would be ten times
slower. In each format, a row leaves a mark that quoted text cannot forge.

>>> counter = Counter("tsv")
>>> counter.add(b"?x\n1\n2\n"); counter.rows
2
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kgbench.characters import XmlSink
from kgbench.serve.formats import engine_format
from kgbench.serve.refusals import too_large

_CHUNK = 1 << 15
_MARKS = {"xml": b"<result>", "tsv": b"\n"}
# The mark between two JSON rows. In a literal that ends with the same characters, a brace or comma
# follows the quote instead.
_JSON = re.compile(rb'\},\{"[^},]')
_JSON_TAIL = 4  # bytes kept from the last chunk: one less than the match is long


class Counter:
    """Counts rows in bytes of one format (``json``, ``xml``, ``csv``, ``tsv``), chunk by chunk."""

    def __init__(self, form: str) -> None:
        self._mark = _MARKS.get(form, b"\r\n")
        self._csv = form == "csv"
        self._json = form == "json"
        self._quoted = False
        self._tail = b""
        # JSON marks stand between rows; the first line of CSV and TSV is the heading.
        self._marks = 0
        self._offset = {"json": 1, "xml": 0}.get(form, -1)

    @property
    def rows(self) -> int:
        """The number of rows seen so far, at least: JSON rows without bindings are not counted."""
        return max(self._marks + self._offset, 0) if self._marks or self._offset < 1 else 0

    def add(self, chunk: bytes) -> None:
        """Count the marks in the next bytes of the answer."""
        data = self._tail + chunk
        if self._json:
            self._marks += sum(1 for _ in _JSON.finditer(data))
            self._tail = data[-_JSON_TAIL:]
            return
        keep = len(self._mark) - 1
        if not self._csv:
            self._marks += data.count(self._mark)
            self._tail = data[-keep:] if keep else b""
            return
        # A CR at the end waits for the next chunk; line ends inside quoted fields do not count.
        self._tail = b"\r" if data.endswith(b"\r") else b""
        for index, piece in enumerate(data.removesuffix(b"\r").split(b'"')):
            if index:
                self._quoted = not self._quoted
            if not self._quoted:
                self._marks += piece.count(b"\r\n")


class Output:
    """A binary file that passes chunks on to ``send``, and limits rows and bytes (``size``)."""

    def __init__(
        self, send: Callable[[bytes], Any], counter: Counter | None, rows: int, size: int
    ) -> None:
        self._send, self._counter, self._rows, self._left = send, counter, rows, size
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        """Buffer data and send full chunks; raises :class:`~kgbench.serve.refusals.Refused`."""
        self._waiting += data
        if len(self._waiting) >= _CHUNK:
            self.flush()
        return len(data)

    def flush(self) -> None:
        """Send buffered data; raises :class:`~kgbench.serve.refusals.Refused` at a limit."""
        if not self._waiting:
            return
        piece = bytes(self._waiting)
        self._waiting.clear()
        self._left -= len(piece)
        if self._counter is not None:
            self._counter.add(piece)
        if self._left < 0 or (self._counter is not None and self._counter.rows > self._rows):
            raise too_large()
        self._send(piece)


def write_rows(result: Any, form: str, output: Output) -> None:
    """Write the result of a SELECT or ASK query of pyoxigraph in a format."""
    sink = XmlSink(output) if form == "xml" else output
    result.serialize(sink, engine_format(form))
    sink.flush()
    output.flush()
