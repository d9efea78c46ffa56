# SPDX-License-Identifier: Apache-2.0
"""Scores of how a dialogue used its tools, from what was asked of them and what they gave."""

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
"""The tools whose calls are counted apart."""

_IRI: Final = re.compile(r"<([^<>\s]+)>")
_PREFIX: Final = re.compile(r"\bPREFIX\s+([\w-]*):\s*<([^<>\s]*)>", re.IGNORECASE)
_SHORT: Final = re.compile(r"(?<![\w:-])([A-Za-z][\w-]*+|):([A-Za-z0-9_][\w-]*)")
# Terms that every model may know. No graph has to show them.
_STANDARD: Final = tuple(str(one) for one in (RDF, RDFS, OWL, XSD))


def usage(
    prompts: Sequence[str], answers: Sequence[str], query: str | None, prefixes: Mapping[str, str]
) -> dict[str, float]:
    """Numbers of calls, errors, empty results and repeats, and how much of ``query`` was shown.

    ``prompts`` were given before each of ``answers``; ``prefixes`` are those that the query may
    use undeclared. ``grounded`` and ``shown`` are absent where the query names nothing of a graph.
    """
    calls = [call for answer in answers[:-1] for call in wording.calls(answer)]
    results = [result for prompt in prompts[1:] for result in wording.told(prompt)[0]]
    outcomes = Counter(result.outcome for result in results)
    tools = Counter(result.tool for result in results)
    asked = Counter((call.name, call.arguments) for call in calls)
    scores = {
        "toolCalls": float(len(results)),
        **{f"{name}Calls": float(tools[name]) for name in COUNTED},
        "toolErrors": float(outcomes[ToolOutcome.ERROR] + outcomes[ToolOutcome.REFUSED]),
        "toolEmpties": float(outcomes[ToolOutcome.EMPTY]),
        "toolRepeats": float(sum(times - 1 for times in asked.values())),
    }
    if query is None:
        return scores
    named = {one for one in _of_query(query, prefixes) if not one.startswith(_STANDARD)}
    if named:
        by_tools = {iri for result in results for iri in _shown(result.text)}
        scores["grounded"] = len(named & by_tools) / len(named)
        by_any = by_tools.union(*(map(_shown, prompts[:1])))
        scores["shown"] = len(named & by_any) / len(named)
    return scores


def is_out_of_budget(prompts: Sequence[str], answer: str) -> bool:
    """Whether ``answer``, which neither answers nor gives up, came when nothing was left."""
    return bool(answer.strip()) and len(prompts) > 1 and "Left: " not in prompts[-1]


def _of_query(query: str, prefixes: Mapping[str, str]) -> set[str]:
    """The IRIs that a query names, in full or by a prefix that is known or declared."""
    known = {**prefixes, "rdf": str(RDF), **dict(_PREFIX.findall(query))}
    found = set()
    for name in query_names.names(query, {}):
        prefix, _, local = name.partition(":")
        if name.startswith("<"):
            found.add(name[1:-1])
        elif prefix in known:  # else the query fails
            found.add(known[prefix] + local)
    return found


def _shown(text: str) -> set[str]:
    """The IRIs in a prompt or result, in full or by a prefix that the text declares."""
    known = dict(_PREFIX.findall(text))
    body = _PREFIX.sub(" ", text)
    found = set(_IRI.findall(body))
    if known:
        names = _SHORT.findall(_IRI.sub(" ", body))
        found |= {known[prefix] + local for prefix, local in names if prefix in known}
    return found
