# SPDX-License-Identifier: Apache-2.0
"""Whole dialogues from a store, by SPARQL: every call with its times, tokens and failures.

What judging needs of many dialogues is read faster by
:func:`kgbench.record.reading.execution_dialogues`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kgbench.errors import StoreError
from kgbench.model import Dialogue, Turn
from kgbench.rdf import iri
from kgbench.record import schema
from kgbench.record.assembly import Assembler, Uses
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import DCTERMS, PROV

_AT_ONCE = 200  # dialogues that one query names
_NODES = 500  # nodes that one query names


class Facts(dict[str, dict[str, str]]):
    """The values of properties by node; of several values of a property, the last one read."""

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of a property, if any."""
        return self.get(subject, {}).get(name)


def dialogues(store: Store, iris: Sequence[str]) -> Iterator[Dialogue]:
    """Yield the dialogues with these IRIs, in this order, read in portions.

    A text that was removed for publication is a :class:`~kgbench.record.schema.Withheld`. Raises
    :class:`~kgbench.errors.StoreError` for a dialogue that the store lacks.
    """
    for begin in range(0, len(iris), _AT_ONCE):
        names = iris[begin : begin + _AT_ONCE]
        portion = _portion(store, names)
        for name in names:
            if name not in portion:
                raise StoreError(f"{store.location} holds no dialogue <{name}>")
            yield portion[name]


def turns(store: Store, graph: str, iris: Sequence[str]) -> dict[str, dict[int, Turn]]:
    """Return the turns of dialogues in a run's graph, by dialogue and round.

    Statements are queried node by node, because engines read a whole run for optional joins.
    """
    parts = {"graph": graph, "which": _which(iris)}
    facts = _facts(store.query(fill("whole-calls.rq", **parts)))
    calls: dict[str, list[str]] = defaultdict(list)
    for call, properties in facts.items():
        calls[properties[DCTERMS.isPartOf]].append(call)
    answers: dict[str, list[str]] = defaultdict(list)
    for row in store.query(fill("answers-of-dialogues.rq", **parts)):
        answers[row["dialogue"].value].append(row["entity"].value)
    messages = {properties[PROV.used] for properties in facts.values()}
    messages.update(answer for of_dialogue in answers.values() for answer in of_dialogue)
    described = _described(store, graph, messages)
    facts |= described | _texts(store, graph, described)
    uses = tool_uses(store, graph, iris)
    assembler = Assembler(facts)
    return {
        dialogue: assembler.turns(of_dialogue, answers[dialogue], uses.get(dialogue, {}))
        for dialogue, of_dialogue in calls.items()
    }


def tool_uses(store: Store, graph: str, iris: Iterable[str]) -> dict[str, Uses]:
    """Return the tool uses of dialogues in a run's graph, by dialogue and round."""
    result_of: dict[str, str] = {}
    calls: dict[str, list[str]] = defaultdict(list)
    for row in store.query(fill("tool-uses.rq", graph=graph, which=_which(iris))):
        calls[row["dialogue"].value].append(row["call"].value)
        result_of[row["call"].value] = row["result"].value
    facts = _described(store, graph, [*result_of, *result_of.values()])
    facts |= _texts(store, graph, facts)
    # Of what was imported, the server is described in the catalogue.
    servers = {iri for said in facts.values() if (iri := said.get(PROV.wasAssociatedWith))}
    for place in (graph, store.iris.catalogue):
        facts |= _described(store, place, servers)
    assembler = Assembler(facts)
    return {
        dialogue: assembler.uses(of_dialogue, [result_of[call] for call in of_dialogue])
        for dialogue, of_dialogue in calls.items()
    }


def _portion(store: Store, iris: Sequence[str]) -> dict[str, Dialogue]:
    runs: dict[str, str] = {}
    by_graph: dict[str, list[str]] = defaultdict(list)
    for row in store.query(fill("whole-dialogues.rq", which=_which(iris))):
        runs[row["dialogue"].value] = row["run"].value
        by_graph[row["graph"].value].append(row["dialogue"].value)
    portion: dict[str, Dialogue] = {}
    for graph, names in by_graph.items():
        assembler = Assembler(_described(store, graph, names))
        of_dialogues = turns(store, graph, names)
        for name in names:
            its_turns = of_dialogues.get(name, {}).values()
            portion[name] = assembler.dialogue(name, runs[name], its_turns)
    return portion


def _which(iris: Iterable[str]) -> str:
    return f"VALUES ?dialogue {{ {' '.join(map(iri, iris))} }}"


def _facts(rows: Iterable[Any]) -> Facts:
    facts = Facts()
    for row in rows:
        node = facts.setdefault(row["node"].value, {})
        node[row["property"].value] = str(row["value"].value)
    return facts


def _described(store: Store, graph: str, nodes: Iterable[str]) -> Facts:
    """Return the statements about nodes (IRIs) in one graph."""
    facts = Facts()
    names = sorted(nodes)
    for begin in range(0, len(names), _NODES):
        some = " ".join(map(iri, names[begin : begin + _NODES]))
        facts |= _facts(store.query(fill("statements-of-nodes.rq", graph=graph, nodes=some)))
    return facts


def _texts(store: Store, graph: str, facts: Facts) -> Facts:
    """Return the statements about the texts that are values in ``facts``."""
    properties = schema.texts()
    nodes = {said[name] for said in facts.values() for name in properties if name in said}
    return _described(store, graph, nodes)
