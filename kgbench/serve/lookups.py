# SPDX-License-Identifier: Apache-2.0
"""Fast path for look-ups, which are answered in the server process from the open snapshot.

A look-up (see :mod:`kgbench.serve.admission`) costs one index step per row, and its rows and bytes
are bounded, so that it needs no killable worker. The most common request, a GET with nothing but
such a query, is answered before routing (see :mod:`kgbench.serve.connections`), with the same
status, headers and bytes as by the normal path. ``None`` sends a request to the normal path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_plus

from kgbench.characters import XmlSink
from kgbench.pages.snapshot import View
from kgbench.rdf.lexer import TooManyTokens
from kgbench.serve import formats
from kgbench.serve.admission import INSIDE, LONGEST_LOOKUP, LOOKUP_ROWS, admit
from kgbench.serve.formats import Format
from kgbench.serve.headers import common_headers
from kgbench.serve.protocol import Operation
from kgbench.serve.refusals import Refused
from kgbench.serve.rows import Counter
from kgbench.serve.service import Service
from kgbench.serve.worker import LimitReached

LOOKUPS = "lookups"  # key of the look-ups in the state of connections
MOST_BYTES = 1 << 18
_HEALTH = b"/health"
_LOOKUP = b"/sparql?query="
_OK = b"HTTP/1.1 200 OK\r\n"
_LENGTH = b"content-length: %d\r\n\r\n"
_UNHANDLED = (b"accept", b"if-none-match", b"expect")  # headers, or a second Accept, not handled


class NoLookups:
    """Stands in for :class:`Lookups` on servers without a store."""

    def respond(self, url: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:  # noqa: ARG002
        """Pass every request to the application."""
        return


class Lookups:
    """Answers look-ups on a server's newest snapshot."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._common_headers = common_headers(service.settings.shared_with)
        self._known_host = b""  # the last Host that was this server's own
        self._header_cache: dict[str, bytes] = {}

    def respond(self, url: bytes, headers: Sequence[tuple[bytes, bytes]]) -> list[bytes] | None:
        """Return the response to a GET in pieces, if it is a plain look-up or a health check.

        ``headers`` have lower-case names. The first piece is the status line, so that a connection
        can insert headers behind it.
        """
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            return None
        if hosts[0] != self._known_host:
            if not self._service.settings.is_own(hosts[0].decode("latin-1")):
                return None
            self._known_host = hosts[0]
        if url.startswith(_LOOKUP):
            return self._respond(url[len(_LOOKUP) :], headers)
        if url == _HEALTH:
            content = json.dumps({"snapshot": self._service.view.name}).encode("ascii")
            return [
                _OK,
                self._header_bytes("application/json", {}),
                _LENGTH % len(content),
                content,
            ]
        return None

    def _respond(self, sent: bytes, headers: Sequence[tuple[bytes, bytes]]) -> list[bytes] | None:
        """Return the response to a percent-encoded query without other parameters, or ``None``."""
        if b"&" in sent or len(sent) > 3 * LONGEST_LOOKUP:
            return None
        accept = None
        for name, value in headers:
            if name == b"accept" and accept is None:
                accept = value.decode("latin-1")
            elif name in _UNHANDLED:
                return None
        try:
            text = unquote_plus(sent.decode("ascii"), errors="strict")
            admitted = admit(text, INSIDE)
        except (UnicodeDecodeError, Refused, TooManyTokens):  # the normal path reports the error
            return None
        if admitted.lookup is None or "\0" in text:
            return None
        chosen = formats.negotiate(accept, formats.SOLUTIONS)
        view = self._service.view
        data = None if chosen is None else self.answer(view, admitted.lookup, chosen)
        if data is None or chosen is None:
            return None
        # A look-up has no function calls, so it always is steady and has an entity tag.
        tag = self._service.tag(view, Operation("query", text), chosen.name)
        own_headers = {"vary": "Accept", "cache-control": "no-cache"}
        head = self._header_bytes(chosen.content_type, own_headers) + b"etag: %b\r\n" % tag.encode(
            "ascii"
        )
        return [_OK, head, _LENGTH % len(data), data]

    def _header_bytes(self, content_type: str, more: Mapping[str, str]) -> bytes:
        """Return the constant headers of a content type as bytes."""
        known = self._header_cache.get(content_type)
        if known is None:
            own = {"content-type": content_type, **more}
            lines = [(name.encode("ascii"), value.encode("ascii")) for name, value in own.items()]
            known = b"".join(b"%b: %b\r\n" % line for line in [*lines, *self._common_headers])
            self._header_cache[content_type] = known
        return known

    def answer(self, view: View, lookup: str, chosen: Format) -> bytes | None:
        """Return the answer to a look-up; ``None`` if it is too large or does not parse."""
        settings = self._service.settings
        output = _Bounded()
        try:
            result = view.database.query(
                lookup, base_iri=settings.base, use_default_graph_as_union=settings.union
            )
            sink = XmlSink(output) if chosen.name == "xml" else None
            result.serialize(sink or output, formats.engine_format(chosen.name))  # type: ignore[arg-type]
            if sink is not None:
                sink.flush()
        except (LimitReached, SyntaxError, ValueError, RuntimeError, OSError):
            return None
        data = bytes(output.data)
        counter = Counter(chosen.name)
        counter.add(data)
        return data if counter.rows <= LOOKUP_ROWS else None


class _Bounded:
    """A binary file that accepts at most :data:`MOST_BYTES`."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> int:
        self.data += data
        if len(self.data) > MOST_BYTES:
            raise LimitReached
        return len(data)

    def flush(self) -> None:
        """Do nothing; writes are not buffered."""
