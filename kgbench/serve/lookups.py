# SPDX-License-Identifier: Apache-2.0
"""Look-ups, answered in this process from the open snapshot, without a detour.

A look-up (see :mod:`kgbench.serve.admission`) costs a step in an index per row, and its rows and
bytes are bounded: it needs no worker to be killed. The commonest request, a GET that has nothing
but such a query, is answered here before routing (see :mod:`kgbench.serve.connections`); it gets
the status, headers and bytes that it would get the long way, or ``None``, which sends it there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_plus

from kgbench.characters import XmlSink
from kgbench.execution.lexer import TooManyTokens
from kgbench.pages.snapshot import View
from kgbench.serve import formats
from kgbench.serve.admission import INSIDE, LONGEST_LOOKUP, LOOKUP_ROWS, admit
from kgbench.serve.formats import Format
from kgbench.serve.headers import always
from kgbench.serve.protocol import Operation
from kgbench.serve.refusals import Refused
from kgbench.serve.rows import Counter
from kgbench.serve.service import Service, etag
from kgbench.serve.worker import LimitReached

LOOKUPS = "lookups"  # the name under which connections find the look-ups of their server
MOST_BYTES = 1 << 18
_HEALTH = b"/health"
_LOOKUP = b"/sparql?query="
_OK = b"HTTP/1.1 200 OK\r\n"
_LENGTH = b"content-length: %d\r\n\r\n"
_OTHERWISE = (b"accept", b"if-none-match", b"expect")  # a second Accept, too


class NoLookups:
    """In the place of :class:`Lookups` where a server has no store to look things up in."""

    def respond(self, url: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:  # noqa: ARG002
        """Leave every request to the application."""
        return


class Lookups:
    """Answers look-ups on a server's newest snapshot."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._always = always(service.settings.shared_with)
        self._known_host = b""  # the last Host that was this server's own
        self._fixed: dict[str, bytes] = {}

    def respond(self, url: bytes, headers: Sequence[tuple[bytes, bytes]]) -> list[bytes] | None:
        """The pieces of a whole response to a GET, if it is a plain look-up or asks for the health.

        ``headers`` have names in lower case. The first piece, a status line, ends before the other
        headers, so that a connection can add its own.
        """
        own = [value for name, value in headers if name == b"host"]
        if len(own) != 1:
            return None
        if own[0] != self._known_host:
            if not self._service.settings.is_own(own[0].decode("latin-1")):
                return None
            self._known_host = own[0]
        if url.startswith(_LOOKUP):
            return self._respond(url[len(_LOOKUP) :], headers)
        if url == _HEALTH:
            said = json.dumps({"snapshot": self._service.view.name}).encode("ascii")
            return [_OK, self._said("application/json", {}), _LENGTH % len(said), said]
        return None

    def _respond(self, sent: bytes, headers: Sequence[tuple[bytes, bytes]]) -> list[bytes] | None:
        """The response to a query as it was sent, if that is all that was sent."""
        if b"&" in sent or len(sent) > 3 * LONGEST_LOOKUP:
            return None
        accept = None
        for name, value in headers:
            if name == b"accept" and accept is None:
                accept = value.decode("latin-1")
            elif name in _OTHERWISE:
                return None
        try:
            text = unquote_plus(sent.decode("ascii"), errors="strict")
            admitted = admit(text, INSIDE)
        except (UnicodeDecodeError, Refused, TooManyTokens):  # the long way says what is wrong
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
        own_headers = {"vary": "Accept", "cache-control": "no-cache"}
        said = self._said(chosen.content_type, own_headers) + b"etag: %b\r\n" % tag.encode("ascii")
        return [_OK, said, _LENGTH % len(found), found]

    def _said(self, content_type: str, more: Mapping[str, str]) -> bytes:
        """The headers of every answer of one type, as bytes."""
        known = self._fixed.get(content_type)
        if known is None:
            own = {"content-type": content_type, **more}
            lines = [(name.encode("ascii"), value.encode("ascii")) for name, value in own.items()]
            known = b"".join(b"%b: %b\r\n" % line for line in [*lines, *self._always])
            self._fixed[content_type] = known
        return known

    def answer(self, view: View, lookup: str, chosen: Format) -> bytes | None:
        """The answer to a look-up; ``None`` where it is too large for here, or does not parse."""
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
        found = bytes(output.data)
        counter = Counter(chosen.name)
        counter.add(found)
        return found if counter.rows <= LOOKUP_ROWS else None


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
