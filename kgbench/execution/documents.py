# SPDX-License-Identifier: Apache-2.0
"""Checks of documents before parsing, and relabelling of blank nodes after it, for all engines.

RDF/XML must be well-formed and must not declare entities; JSON-LD must not name remote contexts.
This is checked before an engine gets the document, so that no engine fetches or expands anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from kgbench.model import Json
from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind

# The base of relative IRIs in documents and queries; ".invalid" is reserved (RFC 6761, 6.4).
BASE_IRI = "https://document.invalid/"

_IN_SHORT = re.compile(r'\\.|["\n\r]', re.DOTALL)
_ESCAPES = {'"': '\\"', "\n": "\\n", "\r": "\\r"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODING = re.compile(r"(<\?xml[^>]*?)(\s+encoding\s*=\s*(?:\"[^\"]*\"|'[^']*'))")
_TERM = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|(_:[^\s<>"]+)')


class RefusedDocument(ValueError):
    """A document is refused before parsing; the message says why and where."""


def position_of(text: str, offset: int) -> str:
    """Return ``line 2, column 7`` for the character at ``offset``, both counted from 1."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return f"line {line}, column {column}"


def refuse_surrogates(text: str) -> None:
    """Raise :class:`RefusedDocument` if ``text`` has surrogates, which are not characters."""
    match = None if text.isascii() else _SURROGATE.search(text)
    if match is not None:
        code = ord(match.group())
        raise RefusedDocument(
            f"{position_of(text, match.start())}: U+{code:04X} is not a character"
        )


def check_xml(text: str) -> str:
    """Return ``text`` without its encoding declaration; refuse entities and malformed XML.

    The document has been decoded already, so its declared encoding is replaced by blanks.
    """
    import pyexpat

    text = _ENCODING.sub(lambda m: m.group(1) + " " * len(m.group(2)), text, count=1)
    parser = pyexpat.ParserCreate(encoding="utf-8", namespace_separator=" ")

    def entity_declared(name: str, *_: object) -> None:
        position = f"line {parser.CurrentLineNumber}, column {parser.CurrentColumnNumber + 1}"
        raise RefusedDocument(f"{position}: entities are not resolved, and '{name}' is declared")

    parser.EntityDeclHandler = entity_declared
    try:
        parser.Parse(text.encode("utf-8"), True)  # noqa: FBT003 - the interface of expat
    except pyexpat.ExpatError as error:
        position = f"line {error.lineno}, column {error.offset + 1}"
        raise RefusedDocument(f"{position}: {pyexpat.ErrorString(error.code)}") from None
    return text


def refuse_remote_contexts(text: str) -> None:
    """Raise :class:`RefusedDocument` if a JSON-LD document names a remote context.

    A document that is not JSON is left to the parser, which reports the position of the error.
    """
    if '"@context"' not in text and '"@import"' not in text and "\\u" not in text:
        return
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    for context in _remote_contexts(document):
        offset = max(text.find(json.dumps(context, ensure_ascii=False)), 0)
        raise RefusedDocument(
            f"{position_of(text, offset)}: the remote context {context[:200]} is not loaded"
        )


def relabel(lines: Iterable[str]) -> Iterator[str]:
    """Relabel blank nodes in N-Triples lines to ``_:b0``, ``_:b1`` ... in order of occurrence.

    Parsers generate labels, often at random. If a parser yields triples in document order, as
    Oxigraph does, the same document always gives the same lines.
    """
    labels: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        label = match.group(1)
        return match.group() if label is None else labels.setdefault(label, f"_:b{len(labels)}")

    for line in lines:
        yield _TERM.sub(rename, line) if "_:" in line else line


def as_oxigraph_reads(turtle: str) -> str:
    """Return Turtle 1.2 in forms that Oxigraph's parser (oxttl 0.2) reads, which mean the same.

    It refuses long strings in triple terms, and anonymous nodes as reifiers.

    >>> print(as_oxigraph_reads("<< :a :b '''x''' ~ [] >> :c '''y''' ."))
    << :a :b "x" ~  >> :c '''y''' .
    """
    read = [*lexer.tokens(turtle)]
    visible = [k for k, token in enumerate(read) if token.kind not in (Kind.BLANK, Kind.COMMENT)]
    left_out: set[int] = set()
    for places in zip(visible, visible[1:], visible[2:], strict=False):
        if [read[k].text for k in places] == ["~", "[", "]"]:
            left_out.update(places[1:])
    pieces: list[str] = []
    depth, before = 0, ""
    for place, token in enumerate(read):
        text = "" if place in left_out else token.text
        if token.kind is Kind.MARK and text == before and text in ("<", ">"):
            depth += 1 if text == "<" else -1
            before = ""
        else:
            before = text
        if depth > 0 and token.kind is Kind.STRING and text[:3] in ('"""', "'''"):
            text = f'"{_IN_SHORT.sub(_escaped, text[3:-3])}"'
        pieces.append(text)
    return "".join(pieces)


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0], match[0])


def _remote_contexts(document: Json) -> Iterator[str]:
    """Yield the contexts of a JSON-LD document that are IRIs, in no particular order."""
    waiting: list[Json] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            context = value.get("@context")
            contexts = context if isinstance(context, list) else [context]
            yield from (item for item in contexts if isinstance(item, str))
            if isinstance(value.get("@import"), str):
                yield value["@import"]
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
