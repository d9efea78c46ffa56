# SPDX-License-Identifier: Apache-2.0
"""Look-ups, answered in this process from the open snapshot, without a detour.

A look-up (see :mod:`kgbench.serve.admission`) costs a step in an index per row, and its rows and
bytes are bounded: it needs no worker to be killed. The commonest request, a GET that has nothing
but such a query, is answered here before routing (see :mod:`kgbench.serve.connections`); it gets
the status, headers and bytes that it would get the long way, or ``None``, which sends it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote_plus

from kgbench.pages.snapshot import View
from kgbench.serve import formats
from kgbench.serve.admission import LONGEST_LOOKUP, LOOKUP_ROWS, admit
from kgbench.serve.formats import Format
from kgbench.serve.headers import ALWAYS
from kgbench.serve.protocol import Operation
from kgbench.serve.refusals import Refused
from kgbench.serve.rows import Counter
from kgbench.serve.service import Service, etag
from kgbench.serve.worker import LimitReached

LOOKUPS = "lookups"  # the name under which connections find the look-ups of their server
MOST_BYTES = 1 << 18
_START = b"query="
_OTHERWISE = (b"accept", b"if-none-match", b"expect")  # a second Accept, too


class Lookups:
    """Answers look-ups on a server's newest snapshot."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def respond(self, sent: bytes, headers: Sequence[tuple[bytes, bytes]]) -> list[bytes] | None:
        """The pieces of a whole response to a GET at the endpoint, if it is a plain look-up.

        ``sent`` is the URL's query, ``headers`` have names in lower case. The first piece, a
        status line, ends before the other headers, so that a connection can add its own.
        """
        if not sent.startswith(_START) or b"&" in sent or len(sent) > 3 * LONGEST_LOOKUP:
            return None
        accept = None
        for name, value in headers:
            if name == b"accept" and accept is None:
                accept = value.decode("latin-1")
            elif name in _OTHERWISE:
                return None
        try:
            text = unquote_plus(sent[len(_START) :].decode("ascii"), errors="strict")
            admitted = admit(text)
        except (UnicodeDecodeError, Refused):  # the long way says what is wrong
            return None
        if admitted.lookup is None or "\0" in text:
            return None
        chosen = formats.negotiate(accept, formats.SOLUTIONS)
        view = self._service.view
        found = None if chosen is None else self.answer(view, admitted.lookup, chosen)
        if found is None or chosen is None:
            return None
        # A look-up has no words but those of its form, so that it is steady.
        tag = etag(view.name, Operation("query", text), chosen.name)
        said = _fixed(chosen) + b"etag: " + tag.encode("ascii") + b"\r\n"
        return [b"HTTP/1.1 200 OK\r\n", said, b"content-length: %d\r\n\r\n" % len(found), found]

    def answer(self, view: View, lookup: str, chosen: Format) -> bytes | None:
        """The answer to a look-up; ``None`` where it is too large for here, or does not parse."""
        settings = self._service.settings
        output = _Bounded()
        try:
            result = view.database.query(
                lookup, base_iri=settings.base, use_default_graph_as_union=settings.union
            )
            result.serialize(output, formats.engine_format(chosen.name))  # type: ignore[arg-type]
        except (LimitReached, SyntaxError, ValueError, RuntimeError, OSError):
            return None
        found = bytes(output.data)
        counter = Counter(chosen.name)
        counter.add(found)
        return found if counter.rows <= LOOKUP_ROWS else None


@lru_cache
def _fixed(chosen: Format) -> bytes:
    """The headers of every answer in one format, as bytes."""
    own = {"vary": "Accept", "content-type": chosen.content_type, "cache-control": "no-cache"}
    lines = [(name.encode("ascii"), value.encode("ascii")) for name, value in own.items()]
    return b"".join(b"%b: %b\r\n" % line for line in [*lines, *ALWAYS])


class _Bounded:
    """A file of bytes that takes so many and no more."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> int:
        self.data += data
        if len(self.data) > MOST_BYTES:
            raise LimitReached
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""
