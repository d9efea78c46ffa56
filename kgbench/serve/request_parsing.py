# SPDX-License-Identifier: Apache-2.0
"""Parsing of operations and graphs that clients send.

All functions are pure, take linear time, and return values that JSON can express: small requests
are parsed in the server's event loop, all others by a worker (see
:class:`kgbench.serve.service.RequestReaders`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.characters import without_bom
from kgbench.serve import formats, protocol, updates
from kgbench.serve.admission import DEEPEST, TOKENS, Admitted, admit
from kgbench.serve.protocol import Operation
from kgbench.serve.refusals import Refused
from kgbench.serve.request_bodies import is_deeper

GRAPHS = tuple(form for form in formats.GRAPHS if form.name not in ("nq", "trig"))
_LONGEST_TYPE = 1_000  # characters of a Content-Type; the parser of email takes quadratic time
_LARGEST = 64 << 20  # characters of the triples of one request


class RawRequest(NamedTuple):
    """A raw request of the SPARQL Protocol, and whether the client may change data."""

    method: str
    url_query: bytes
    content_type: str | None
    body: bytes
    may_write: bool


class PreparedOperation(NamedTuple):
    """An operation that is ready to run; ``admitted`` is set for queries."""

    operation: Operation
    admitted: Admitted | None


def operation(sent: RawRequest, base: str, max_tokens: int = TOKENS) -> PreparedOperation | None:
    """Parse the operation of a request; ``None`` if a GET has no query.

    If the client may write, an update gets ``base`` for relative IRIs and is tried on an empty
    store, so that hostile text meets the engine's parser in this process first. Raises
    :class:`~kgbench.serve.refusals.Refused`, and
    :class:`~kgbench.rdf.lexer.TooManyTokens` if a query has more than ``max_tokens``.
    """
    _check_type(sent.content_type)
    parsed = protocol.parse_request(sent.method, sent.url_query, sent.content_type, sent.body)
    if parsed is None:
        return None
    if parsed.kind == "query":
        return PreparedOperation(parsed, admit(parsed.text, max_tokens))
    if not sent.may_write:
        return PreparedOperation(parsed, None)
    text = updates.prepare_update(parsed, base)
    try:
        # Errors that depend on the data (DROP GRAPH of a missing graph) do not count here: they are
        # raised again by the real store, if they apply.
        with suppress(RuntimeError):
            ox.Store().update(text)
    except (SyntaxError, ValueError) as error:
        raise Refused(400, updates.error_message(text, error)) from None
    return PreparedOperation(Operation("update", text), None)


def triples(content_type: str, body: bytes, base: str) -> str:
    """Parse a serialised graph and return its triples as N-Triples, with renamed blank nodes.

    Raises :class:`~kgbench.serve.refusals.Refused`: 415 for unsupported media types, 400 with the
    parser's message, 413 if the triples are much larger than the body.
    """
    _check_type(content_type)
    media = content_type.partition(";")[0].strip().lower()
    return _parsed(body, _form(media), base)


def _check_type(content_type: str | None) -> None:
    if len(content_type or "") > _LONGEST_TYPE:
        raise Refused(
            400,
            "the request has a header that cannot be read: its Content-Type is longer than "
            f"{_LONGEST_TYPE:,} characters",
        )


def _form(media: str) -> formats.Format:
    """Return the graph format of a media type, or raise 415."""
    form = next((f for f in GRAPHS if media in f.accepted_types), None)
    if form is None:
        known = ", ".join(graph_format.media for graph_format in GRAPHS)
        raise Refused(415, f"send one graph as the request body, with its Content-Type: {known}")
    return form


def _parsed(sent: bytes, form: formats.Format, base: str) -> str:
    """Parse a graph to N-Triples with renamed blank nodes; raise 400 for syntax errors."""
    if is_deeper(sent, DEEPEST, json=form.name == "jsonld"):
        raise Refused(400, f"the graph is nested deeper than {DEEPEST} levels")
    lines = []
    size = 0
    try:
        for quad in ox.parse(
            without_bom(sent),
            formats.engine_format(form.name),
            base_iri=base,
            rename_blank_nodes=True,
        ):
            lines.append(f"{quad.triple} .")
            size += len(lines[-1])
            if size > _LARGEST:
                raise Refused(413, "the graph's triples are too large for one request")
    except (SyntaxError, ValueError) as error:
        raise Refused(400, str(error)[:2_000]) from None
    return "\n".join(lines)
