# SPDX-License-Identifier: Apache-2.0
"""Parsing of SPARQL 1.1 Protocol requests: method, URL, content type and body.

All functions are pure. They return an :class:`Operation`, or raise
:class:`~kgbench.serve.refusals.Refused` with the status that the protocol demands
(https://www.w3.org/TR/sparql11-protocol/, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from urllib.parse import parse_qsl

import pyoxigraph as ox

from kgbench.characters import BOM
from kgbench.serve.refusals import Refused

MOST_FIELDS = 1_000
FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"


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
        return _operation("query", fields)
    media, charset = _media_type(content_type)
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refused(415, f"the charset {charset[:40]!r} is not supported: send UTF-8")
    if media == FORM:
        form = _fields(body, "the form")
        if "query" in fields or "update" in fields or ("query" in form and "update" in form):
            raise Refused(400, "send one query or one update, in the form only")
        if "query" not in form and "update" not in form:
            raise Refused(400, "the form has neither a query nor an update")
        return _operation("query" if "query" in form else "update", {**fields, **form})
    if media in (QUERY, UPDATE):
        if "query" in fields or "update" in fields:
            raise Refused(400, "send one operation, in the body only")
        kind = "query" if media == QUERY else "update"
        return _operation(kind, {**fields, kind: [_utf8(body, "the body")]})
    raise Refused(415, f"send a POST request as {FORM}, {QUERY} or {UPDATE}")


def _operation(kind: str, fields: Mapping[str, list[str]]) -> Operation:
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
