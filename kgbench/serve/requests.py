# SPDX-License-Identifier: Apache-2.0
"""Reading of what clients send: bodies within limits, operations and graphs.

Functions that parse are pure, take linear time, and return values that JSON can express: small
requests are parsed in the server's event loop, all others by a worker (see
:class:`kgbench.serve.service.RequestReaders`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pyoxigraph as ox
from starlette.requests import ClientDisconnect, Request

from kgbench.characters import BOM, without_bom
from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind, Token
from kgbench.rdf.query_text import explain_error, with_known_prefixes
from kgbench.serve import formats
from kgbench.serve.admission import DEEPEST, TOKENS, Admitted, Refused, admit
from kgbench.serve.settings import Limits

# Tokens that open or close a level, for which parsers need stack space: brackets in JSON, triple
# terms in Turtle. Strings and comments are matched completely and do not count.
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
_TERMS = re.compile(
    rb"""
      \"\"\"(?:[^"\\]++|\\.|"{1,2}+(?!"))*+\"\"\"
    | '''(?:[^'\\]++|\\.|'{1,2}+(?!'))*+'''
    | "(?:[^"\\\n\r]++|\\.)*+"
    | '(?:[^'\\\n\r]++|\\.)*+'
    | <[^<>"{}|^`\x00-\x20]*+>   # IRIs may contain quotes and number signs
    | \#[^\n\r]*+
    | \\.                        # so may prefixed names, escaped
    | (<<) | (>>)
    """,
    re.VERBOSE | re.DOTALL,
)
MOST_FIELDS = 1_000
FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
GRAPHS = tuple(form for form in formats.GRAPHS if form.name not in ("nq", "trig"))
_LONGEST_TYPE = 1_000  # characters of a Content-Type; the parser of email takes quadratic time
_UPDATE_TOKENS = 300_000  # of an update; INSERT DATA can be long
_SILENT = (Kind.BLANK, Kind.COMMENT)
_LARGEST = 64 << 20  # characters of the triples of one request


def is_deeper(data: bytes, levels: int, *, json: bool) -> bool:
    """Return whether a JSON or Turtle document is nested deeper than ``levels``.

    >>> is_deeper(b'{"a": [{"b": "[[["}]}', 2, json=True), is_deeper(b"[[", 2, json=True)
    (True, False)
    >>> is_deeper(b"<a> <b> '<< <<' .", 1, json=False), is_deeper(b"<<( <<( ", 1, json=False)
    (False, True)
    """
    level = 0
    for match in (_JSON if json else _TERMS).finditer(data):
        if match[1]:
            level += 1
            if level > levels:
                return True
        elif match[2] and level:
            level -= 1
    return False


async def body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request; raises 413 if it is too large and 408 if it is too slow."""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limits.request_bytes:
        raise _too_large(limits)
    pieces = bytearray()
    try:
        async with asyncio.timeout(limits.request_seconds):
            async for piece in request.stream():
                pieces += piece
                if len(pieces) > limits.request_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        raise Refused(408, "the request body arrived too slowly", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "the request ended early") from None
    return bytes(pieces)


async def wait_while_connected(request: Request, task: asyncio.Task[Any]) -> None:
    """Wait until ``task`` is done; cancel it and raise 408 if the client disconnects before."""
    disconnected = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnected}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnected.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled():
        raise Refused(408, "the client has disconnected")


async def _wait_for_disconnect(request: Request) -> None:
    """Wait until the client of a request disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(limits: Limits) -> Refused:
    return Refused(
        413,
        f"the request's body is larger than {limits.request_bytes} bytes",
        {"Connection": "close"},
    )


@dataclass(frozen=True, slots=True)
class Operation:
    """A query or update with the dataset of the request (IRIs of graphs).

    ``default_graphs`` and ``named_graphs`` are both ``None`` if the request names no dataset.
    ``wanted`` is the value of the ``format`` parameter.
    """

    kind: str
    text: str
    default_graphs: tuple[str, ...] | None = None
    named_graphs: tuple[str, ...] | None = None
    wanted: str | None = None


def parse_request(
    method: str, url_query: bytes, content_type: str | None, body: bytes
) -> Operation | None:
    """Parse the operation of a request; ``None`` if a GET has no query."""
    fields = _fields(url_query, "the URL")
    if method in ("GET", "HEAD"):
        if "update" in fields:
            raise Refused(400, "send updates by POST, not by GET")
        if "query" not in fields:
            return None
        return _read_operation("query", fields)
    media, charset = _media_type(content_type)
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refused(415, f"the charset {charset[:40]!r} is not supported: send UTF-8")
    if media == FORM:
        form = _fields(body, "the form")
        if "query" in fields or "update" in fields or ("query" in form and "update" in form):
            raise Refused(400, "send one query or one update, in the form only")
        if "query" not in form and "update" not in form:
            raise Refused(400, "the form has neither a query nor an update")
        return _read_operation("query" if "query" in form else "update", {**fields, **form})
    if media in (QUERY, UPDATE):
        if "query" in fields or "update" in fields:
            raise Refused(400, "send one operation, in the body only")
        kind = "query" if media == QUERY else "update"
        return _read_operation(kind, {**fields, kind: [_utf8(body, "the body")]})
    raise Refused(415, f"send a POST request as {FORM}, {QUERY} or {UPDATE}")


def _read_operation(kind: str, fields: Mapping[str, list[str]]) -> Operation:
    texts = fields[kind]
    if len(texts) > 1:
        raise Refused(400, f"the request has {len(texts)} fields '{kind}': send one")
    text = texts[0].removeprefix(BOM)
    if "\0" in text:
        raise Refused(400, f"the {kind} contains a NUL character")
    prefix = "" if kind == "query" else "using-"
    default = fields.get(f"{prefix}default-graph-uri" if kind == "query" else "using-graph-uri")
    named = fields.get(f"{prefix}named-graph-uri")
    chosen = default is not None or named is not None
    return Operation(
        kind,
        text,
        _iris(default or []) if chosen else None,
        _iris(named or []) if chosen else None,
        fields.get("format", [None])[0],
    )


def _iris(values: list[str]) -> tuple[str, ...]:
    for value in values:
        try:
            ox.NamedNode(value)
        except ValueError as error:
            raise Refused(400, f"a graph of the dataset is not an IRI: {error}") from None
    return tuple(dict.fromkeys(values))


def _fields(encoded: bytes, where: str) -> dict[str, list[str]]:
    try:
        text = encoded.decode("ascii") if where == "the URL" else encoded.decode("utf-8")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:  # includes UnicodeDecodeError
        raise Refused(400, f"{where} is not URL-encoded UTF-8, or has too many fields") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _utf8(body: bytes, where: str) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(400, f"{where} is not UTF-8 at byte {error.start}") from None


def _media_type(header: str | None) -> tuple[str, str]:
    message = Message()
    message["Content-Type"] = (header or "").replace("\r", "").replace("\n", "") or "x/none"
    try:
        charset = message.get_content_charset() or ""
    except (LookupError, ValueError):
        charset = "?"
    return message.get_content_type(), charset.lower()


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
    :class:`~kgbench.serve.admission.Refused`, and
    :class:`~kgbench.rdf.lexer.TooManyTokens` if a query has more than ``max_tokens``.
    """
    _check_type(sent.content_type)
    parsed = parse_request(sent.method, sent.url_query, sent.content_type, sent.body)
    if parsed is None:
        return None
    if parsed.kind == "query":
        return PreparedOperation(parsed, admit(parsed.text, max_tokens))
    if not sent.may_write:
        return PreparedOperation(parsed, None)
    text = prepare_update(parsed, base)
    try:
        # Errors that depend on the data (DROP GRAPH of a missing graph) do not count here: they are
        # raised again by the real store, if they apply.
        with suppress(RuntimeError):
            ox.Store().update(text)
    except (SyntaxError, ValueError) as error:
        raise Refused(400, error_message(text, error)) from None
    return PreparedOperation(Operation("update", text), None)


def triples(content_type: str, body: bytes, base: str) -> str:
    """Parse a serialised graph and return its triples as N-Triples, with renamed blank nodes.

    Raises :class:`~kgbench.serve.admission.Refused`: 415 for unsupported media types, 400 with the
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
    form = next((f for f in GRAPHS if media in f.media_types), None)
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
            formats.ENGINE[form.name],
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


def error_message(prepared: str, error: Exception) -> str:
    """Return the message about an error of a prepared update, with positions in its own text."""
    if not isinstance(error, SyntaxError):
        return str(error)[:2_000]
    preamble, end, update = prepared.partition("\n")
    return explain_error(update, str(error), kind="update", preamble=preamble + end)


def prepare_update(operation: Operation, base: str) -> str:
    """Return the text of an update with a base and the request's dataset, without remote access.

    The first line is the base with the known prefixes that the update uses undeclared.
    Raises :class:`~kgbench.serve.admission.Refused`, and
    :class:`~kgbench.rdf.lexer.TooManyTokens` beyond :data:`_UPDATE_TOKENS`.
    """
    text = operation.text
    tokens = list(lexer.tokens(text, _UPDATE_TOKENS))
    asks = lexer.refusal(text, tokens, _UPDATE_TOKENS) == lexer.ASKS_ELSEWHERE
    if asks or lexer.may_load(text, tokens, _UPDATE_TOKENS):
        raise Refused(400, "SERVICE and LOAD access other machines and are never executed")
    if lexer.is_deeper(text, DEEPEST, tokens):
        raise Refused(400, f"the update is nested deeper than {DEEPEST} levels")
    if operation.default_graphs is not None:
        graphs = [f"USING <{iri}>" for iri in operation.default_graphs]
        graphs += [f"USING NAMED <{iri}>" for iri in operation.named_graphs or ()]
        text = with_dataset(text, " ".join(graphs), tokens)
    preamble = with_known_prefixes(text).removesuffix(text)
    return f"BASE <{base}> {preamble}\n{text}"


def with_dataset(update: str, using: str, read: Sequence[Token] | None = None) -> str:
    """Insert the clauses ``using`` into each operation of ``update`` that has a WHERE.

    ``read`` are the tokens of ``update`` if they are known. The SPARQL 1.1 Protocol (section 2.2.3)
    forbids a dataset in the request if the update itself has USING or WITH.

    >>> with_dataset("DELETE WHERE { ?s ?p 1 }", "USING <g>")
    'DELETE { ?s ?p 1 } USING <g> WHERE { ?s ?p 1 }'
    """
    pieces: list[str] = []
    tokens = list(lexer.tokens(update)) if read is None else read
    depth, previous = 0, ""
    for index, token in enumerate(tokens):
        word = token.text.upper() if token.kind is Kind.WORD else ""
        if depth == 0 and word in ("USING", "WITH"):
            raise Refused(400, f"the update has {word}, so the request must not name a dataset")
        if depth == 0 and word == "WHERE":
            if previous == "DELETE":
                pieces.append(f"{_block(tokens[index + 1 :])} ")
            pieces.append(f"{using} ")
        if token.kind is Kind.MARK and token.text in "{}":
            depth += 1 if token.text == "{" else -1
        pieces.append(token.text)
        if token.kind not in _SILENT:
            previous = word
    return "".join(pieces)


def _block(tokens: Sequence[Token]) -> str:
    """Return the text of the first group in braces in ``tokens``."""
    depth, pieces = 0, []
    for token in tokens:
        opens = token.kind is Kind.MARK and token.text == "{"
        if depth or opens:
            pieces.append(token.text)
        depth += opens - (token.kind is Kind.MARK and token.text == "}")
        if pieces and depth == 0:
            break
    return "".join(pieces)
