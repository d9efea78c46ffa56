# SPDX-License-Identifier: Apache-2.0
"""Tool calls -> triples; :mod:`kgbench.record.assembly` reverses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgbench.rdf import canonical_json, digest, integer, moment, storable, string
from kgbench.record import terms as t
from kgbench.store.iris import Iris, slug
from kgbench.tool_calls import ToolServer, ToolUse
from kgbench.vocab import TOOL_OUTCOME

_DIGITS = 16  # of a digest, in the IRI of a server


def triples(
    dialogue: str,
    k: int,
    number: int,
    uses: Sequence[ToolUse],
    text: Callable[[str, list[str]], str],
    *,
    iris: Iris,
) -> list[str]:
    """Return the tool calls in answer ``k`` of a dialogue (IRI), given by model call ``number``.

    ``text`` returns the node of a text and adds its content to the lines.
    """
    lines: list[str] = []
    for index, use in enumerate(uses):
        call, result = use.call, use.result
        node = f"<{dialogue}/{k}/tool/{index}>"
        result_node = f"<{dialogue}/{k}/tool/{index}/result>"
        lines += [
            f"{node} {t.TYPE} {t.TOOL_CALL} .",
            f"{node} {t.TYPE} {t.ACTIVITY} .",
            f"{node} {t.DIALOGUE_P} <{dialogue}> .",
            f"{node} {t.ROUND} {integer(k)} .",
            f"{node} {t.INDEX} {integer(index)} .",
            f"{node} {t.INFORMED_BY} <{dialogue}/{k}/call/{number}> .",
            f"{node} {t.TOOL} {string(storable(call.name).value)} .",
            f"{node} {t.USED} {text(call.arguments, lines)} .",
            f"{node} {t.STARTED} {moment(use.started)} .",
            f"{node} {t.ENDED} {moment(use.ended)} .",
            f"{node} {t.TOOL_OUTCOME_P} <{TOOL_OUTCOME[result.outcome]}> .",
            f"{result_node} {t.TYPE} {t.TOOL_RESULT} .",
            f"{result_node} {t.TYPE} {t.ENTITY} .",
            f"{result_node} {t.GENERATED_BY} {node} .",
            f"{result_node} {t.TEXT_P} {text(result.text, lines)} .",
        ]
        if use.server is not None:
            lines += _server(node, use.server, iris)
        if call.id is not None:
            lines.append(f"{node} {t.TOOL_CALL_ID} {string(storable(call.id).value)} .")
        if result.fault is not None:
            lines.append(f"{node} {t.TOOL_FAULT} {string(result.fault)} .")
        if call.malformed is not None:
            lines.append(f"{node} {t.ERROR} {string(storable(call.malformed).value)} .")
    return lines


def _server(node: str, server: ToolServer, iris: Iris) -> list[str]:
    """Return the triples of the server that gave the result of a call."""
    name, version = (storable(text).value for text in (server.name, server.version))
    known = digest(canonical_json([name, version, server.digest]))[:_DIGITS]
    agent = f"<{iris.mint('toolServer', name=slug(name), digest=known)}>"
    return [
        f"{node} {t.ASSOCIATED_WITH} {agent} .",
        f"{agent} {t.TYPE} {t.TOOL_SERVER} .",
        f"{agent} {t.TYPE} {t.SOFTWARE_AGENT} .",
        f"{agent} {t.LABEL} {string(f'{name} {version}'.strip())} .",
        f"{agent} {t.NOTATION} {string(name)} .",
        f"{agent} {t.SOFTWARE_VERSION} {string(version)} .",
        f"{agent} {t.DIGEST} {string(server.digest)} .",
    ]
