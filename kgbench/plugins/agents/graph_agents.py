# SPDX-License-Identifier: Apache-2.0
"""Scripted agents without a model, as baselines for dialogues with tools over a graph.

They need no provider and help to interpret scores with tools: ``oracle`` runs the reference query
and gives it as its answer, or gives up if there is none; ``schema-only`` reads the schema once and
asks for all instances of its first class; ``random-walker`` follows random links and asks about the
last node; ``searcher`` is :mod:`kgbench.plugins.agents.searching_agent`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from kgbench.model import Case, Json
from kgbench.plugins.agents import searching_agent
from kgbench.tools import wording

_STEPS: Final = 4  # of the random walker
_IRI: Final = re.compile(r"<([^<>\s]+)>")
_CLASS: Final = re.compile(r"(\S+) \(instances: ")
_PREFIX: Final = re.compile(r"PREFIX [^\n]+")


def say(name: str, case: Case, messages: Sequence[str], chance: Random) -> str:
    """Return the next message of the agent ``name`` after ``messages``, in the text protocol."""
    results_by_prompt = [wording.split_results(prompt)[0] for prompt in messages[2::2]]
    results = [result[0].text if result else "" for result in results_by_prompt]
    return _AGENTS[name](case, results, chance)


def best(case: Case) -> str:
    """Return the best last answer to ``case``: its reference query, or giving up if it has none."""
    query = case.data["refSparql"]
    if query is None:
        return _call("cancel", reason="the graph cannot answer the question")
    return _call("answer", sparql=query.strip())


def _oracle(case: Case, results: Sequence[str], chance: Random) -> str:  # noqa: ARG001 - an agent
    query = case.data["refSparql"]
    return best(case) if results or query is None else _call("query", sparql=query.strip())


def _schema_only(case: Case, results: Sequence[str], chance: Random) -> str:  # noqa: ARG001 - an agent
    if not results:
        return _call("schema")
    first_class = _CLASS.search(results[0])
    if first_class is None:
        return _call("cancel", reason="the graph has no class")
    prefixes = " ".join(_PREFIX.findall(results[0]))
    return _call(
        "answer", sparql=f"{prefixes} SELECT ?x WHERE {{ ?x a {first_class.group(1)} }}".strip()
    )


def _random_walker(case: Case, results: Sequence[str], chance: Random) -> str:
    if not results:
        return _call("search", text=case.data["question"])
    iris = list(dict.fromkeys(iri for result in results for iri in _IRI.findall(result)))
    if not iris:
        return _call("cancel", reason="nothing was found")
    node = chance.choice(iris)
    if len(results) < _STEPS:
        return _call("describe", iri=node)
    return _call("answer", sparql=f"SELECT ?x WHERE {{ <{node}> ?p ?x }}")


def _searcher(case: Case, results: Sequence[str], chance: Random) -> str:  # noqa: ARG001 - an agent
    tool, arguments = searching_agent.next_call(case.data["question"], results)
    return _call(tool, **arguments)


def _call(tool: str, **arguments: Json) -> str:
    call = json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)
    return f"```json\n{call}\n```"


_AGENTS: Final[Mapping[str, Callable[[Case, Sequence[str], Random], str]]] = {
    "oracle": _oracle,
    "schema-only": _schema_only,
    "random-walker": _random_walker,
    "searcher": _searcher,
}
