# SPDX-License-Identifier: Apache-2.0
"""Tool calls -> triples; :mod:`kgbench.record.dialogues` reverses it."""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.rdf import canonical_json, digest, storable
from kgbench.record import schema
from kgbench.store.iris import Iris, slug
from kgbench.tool_calls import ToolServer, ToolUse

_DIGITS = 16  # of a digest, in the IRI of a server


def triples(
    dialogue: str,
    k: int,
    number: int,
    uses: Sequence[ToolUse],
    texts: schema.Texts,
    *,
    iris: Iris,
) -> list[str]:
    """Return the tool calls in answer ``k`` of a dialogue (IRI), given by model call ``number``."""
    lines: list[str] = []
    for index, use in enumerate(uses):
        iri = f"{dialogue}/{k}/tool/{index}"
        lines += schema.of("ToolCall").triples(
            iri,
            use.call,
            use,
            dialogue=dialogue,
            round=k,
            index=index,
            model_call=f"{dialogue}/{k}/call/{number}",
            outcome=use.result.outcome,
            fault=use.result.fault,
            server=None if use.server is None else _iri(use.server, iris),
            texts=texts,
        )
        lines += schema.of("ToolResult").triples(f"{iri}/result", use.result, call=iri, texts=texts)
        if use.server is not None:
            label = f"{use.server.name} {use.server.version}".strip()
            server = _iri(use.server, iris)
            lines += schema.of("ToolServer").triples(server, use.server, label=label)
    return lines


def _iri(server: ToolServer, iris: Iris) -> str:
    """Return the IRI of the server that gave the result of a call."""
    name, version = (storable(text).value for text in (server.name, server.version))
    known = digest(canonical_json([name, version, server.digest]))[:_DIGITS]
    return iris.mint("toolServer", name=slug(name), digest=known)
