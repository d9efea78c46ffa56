# SPDX-License-Identifier: Apache-2.0
"""SPARQL updates on a store opened for writing: refused kinds, datasets, visibility."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kgbench.rdf import lexer, query_errors
from kgbench.rdf.lexer import Kind, Token
from kgbench.serve.admission import DEEPEST
from kgbench.serve.protocol import Operation
from kgbench.serve.refusals import Refused
from kgbench.serve.snapshot_follower import SnapshotFollower
from kgbench.store import EmbeddedStore

TOKENS = 300_000  # of an update; INSERT DATA can be long
_SILENT = (Kind.BLANK, Kind.COMMENT)


class Updates:
    """Applies updates one at a time; an update is visible to readers before it is answered."""

    def __init__(self, store: EmbeddedStore, following: SnapshotFollower) -> None:
        self._store = store
        self._following = following
        self._lock = asyncio.Lock()

    async def apply(self, text: str) -> None:
        """Apply a prepared update and publish a snapshot with it; raises :class:`Refused`."""
        async with self._lock:
            try:
                await asyncio.to_thread(self._store.update, text)
            except (SyntaxError, ValueError, RuntimeError) as error:
                raise Refused(400, error_message(text, error)) from None
            await asyncio.to_thread(self._store.publish_snapshot)
            await asyncio.to_thread(self._following.refresh)


def error_message(prepared: str, error: Exception) -> str:
    """Return the message about an error of a prepared update, with positions in its own text."""
    if not isinstance(error, SyntaxError):
        return str(error)[:2_000]
    preamble, end, update = prepared.partition("\n")
    return query_errors.explain(update, str(error), kind="update", preamble=preamble + end)


def prepare_update(operation: Operation, base: str) -> str:
    """Return the text of an update with a base and the request's dataset, without remote access.

    The first line is the base with the known prefixes that the update uses undeclared.
    Raises :class:`~kgbench.serve.refusals.Refused`, and
    :class:`~kgbench.rdf.lexer.TooManyTokens` beyond :data:`TOKENS`.
    """
    text = operation.text
    tokens = list(lexer.tokens(text, TOKENS))
    asks = lexer.refusal(text, tokens, TOKENS) == lexer.ASKS_ELSEWHERE
    if asks or lexer.may_load(text, tokens, TOKENS):
        raise Refused(400, "SERVICE and LOAD access other machines and are never executed")
    if lexer.is_deeper(text, DEEPEST, tokens):
        raise Refused(400, f"the update is nested deeper than {DEEPEST} levels")
    if operation.default_graphs is not None:
        graphs = [f"USING <{iri}>" for iri in operation.default_graphs]
        graphs += [f"USING NAMED <{iri}>" for iri in operation.named_graphs or ()]
        text = with_dataset(text, " ".join(graphs), tokens)
    preamble = query_errors.declared(text).removesuffix(text)
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
