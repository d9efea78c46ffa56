# SPDX-License-Identifier: Apache-2.0
"""Scores of the use of tools in a dialogue, from the tool calls and their results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.scoring import query_names
from kgbench.tool_calls import ToolOutcome
from kgbench.tools import wording
from kgbench.vocab import OWL, RDF, RDFS, XSD

COUNTED: Final = ("search", "describe", "schema", "query")
"""The tools whose calls are counted separately."""

_IRI: Final = re.compile(r"<([^<>\s]+)>")
_PREFIX: Final = re.compile(r"\bPREFIX\s+([\w-]*):\s*<([^<>\s]*)>", re.IGNORECASE)
_SHORT: Final = re.compile(r"(?<![\w:-])([A-Za-z][\w-]*+|):([A-Za-z0-9_][\w-]*)")
# Standard vocabularies, which models know without seeing them in a graph.
_STANDARD: Final = tuple(str(one) for one in (RDF, RDFS, OWL, XSD))


def usage(
    prompts: Sequence[str], answers: Sequence[str], query: str | None, prefixes: Mapping[str, str]
) -> dict[str, float]:
    """Return counts of calls, errors, empty results and repeats, and the shares of shown IRIs.

    ``prompts`` come before each of ``answers``; ``prefixes`` are those that the query may use
    undeclared. ``grounded`` is the share of IRIs in ``query`` that results showed, ``shown`` that
    results or the first prompt showed; both are absent if the query names no IRI of a graph.
    """
    calls = [call for answer in answers[:-1] for call in wording.calls(answer)]
    results = [result for prompt in prompts[1:] for result in wording.split_results(prompt)[0]]
    outcomes = Counter(result.outcome for result in results)
    tools = Counter(result.tool for result in results)
    call_counts = Counter((call.name, call.arguments) for call in calls)
    scores = {
        "toolCalls": float(len(results)),
        **{f"{name}Calls": float(tools[name]) for name in COUNTED},
        "toolErrors": float(outcomes[ToolOutcome.ERROR] + outcomes[ToolOutcome.REFUSED]),
        "toolEmpties": float(outcomes[ToolOutcome.EMPTY]),
        "toolRepeats": float(sum(times - 1 for times in call_counts.values())),
    }
    if query is None:
        return scores
    query_iris = {
        iri_text for iri_text in _query_iris(query, prefixes) if not iri_text.startswith(_STANDARD)
    }
    if query_iris:
        shown_by_tools = {iri for result in results for iri in _shown_iris(result.text)}
        scores["grounded"] = len(query_iris & shown_by_tools) / len(query_iris)
        shown_at_all = shown_by_tools.union(*(map(_shown_iris, prompts[:1])))
        scores["shown"] = len(query_iris & shown_at_all) / len(query_iris)
    return scores


def is_out_of_budget(prompts: Sequence[str], answer: str) -> bool:
    """Return whether the budget was used up before ``answer``.

    ``answer`` has no query and does not give up.
    """
    return bool(answer.strip()) and len(prompts) > 1 and "Left: " not in prompts[-1]


def _query_iris(query: str, prefixes: Mapping[str, str]) -> set[str]:
    """Return the IRIs that a query names, in full or by a prefix that is known or declared."""
    namespaces = {**prefixes, "rdf": str(RDF), **dict(_PREFIX.findall(query))}
    iris = set()
    for name in query_names.names(query, {}):
        prefix, _, local = name.partition(":")
        if name.startswith("<"):
            iris.add(name[1:-1])
        elif prefix in namespaces:  # a query with an unknown prefix fails anyway
            iris.add(namespaces[prefix] + local)
    return iris


def _shown_iris(text: str) -> set[str]:
    """Return the IRIs in a prompt or result, in full or by a prefix that the text declares."""
    namespaces = dict(_PREFIX.findall(text))
    body = _PREFIX.sub(" ", text)
    iris = set(_IRI.findall(body))
    if namespaces:
        names = _SHORT.findall(_IRI.sub(" ", body))
        iris |= {namespaces[prefix] + local for prefix, local in names if prefix in namespaces}
    return iris
