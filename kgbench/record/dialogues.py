# SPDX-License-Identifier: Apache-2.0
"""Whole dialogues from a store, by SPARQL: every call with its times, tokens and failures.

What judging needs of many dialogues is read faster by
:func:`kgbench.record.reading.execution_dialogues`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kgbench.errors import StoreError
from kgbench.model import Dialogue, Turn
from kgbench.rdf import iri
from kgbench.record.assembly import Assembler, Uses
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import DCTERMS, KGB, PROV, SCHEMA, SKOS

_AT_ONCE = 200  # dialogues that one query names
_NODES = 500  # nodes that one query names
_TEXTS = (KGB.text, KGB.reasoning, KGB.extracted, KGB.providerState)
_DIALOGUE = {  # columns of whole-dialogues.rq
    "model": KGB.model,
    "task": KGB.task,
    "suite": KGB.suite,
    "case": KGB.case,
    "iteration": KGB.iteration,
    "digest": KGB.digest,
    "started": PROV.startedAtTime,
    "ended": PROV.endedAtTime,
    "toolProtocol": KGB.toolProtocol,
}
_TOOL_CALL = {  # columns of tool-uses.rq
    "round": KGB.round,
    "index": KGB.callIndex,
    "tool": KGB.tool,
    "id": KGB.toolCallId,
    "argumentsNode": PROV.used,
    "outcome": KGB.toolOutcome,
    "fault": KGB.toolFault,
    "error": SCHEMA.error,
    "started": PROV.startedAtTime,
    "ended": PROV.endedAtTime,
}
_TOOL_SERVER = {
    "serverName": SKOS.notation,
    "serverVersion": SCHEMA.softwareVersion,
    "serverDigest": KGB.digest,
}


class Facts(dict[str, dict[str, str]]):
    """The values of properties by node; of several values of a property, the last one read."""

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of a property, if any."""
        return self.get(subject, {}).get(name)

    def add(self, subject: str, names: Mapping[str, str], row: Any) -> None:
        """Add the values of a row; ``names`` maps columns to properties."""
        values = {term: row[column] for column, term in names.items()}
        self[subject] = {
            **self.get(subject, {}),
            **{term: str(value.value) for term, value in values.items() if value is not None},
        }


def dialogues(store: Store, iris: Sequence[str]) -> Iterator[Dialogue]:
    """Yield the dialogues with these IRIs, in this order, read in portions.

    A text that was removed for publication is a :class:`~kgbench.record.withheld.Withheld`. Raises
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
    texts = {
        properties[kind]
        for properties in described.values()
        for kind in _TEXTS
        if kind in properties
    }
    facts |= described
    facts |= _described(store, graph, texts)
    uses = tool_uses(store, graph, iris)
    assembler = Assembler(facts)
    return {
        dialogue: assembler.turns(of_dialogue, answers[dialogue], uses.get(dialogue, {}))
        for dialogue, of_dialogue in calls.items()
    }


def tool_uses(store: Store, graph: str, iris: Iterable[str]) -> dict[str, Uses]:
    """Return the tool uses of dialogues in a run's graph, by dialogue and round."""
    facts = Facts()
    calls: dict[str, list[str]] = defaultdict(list)
    for row in store.query(fill("tool-uses.rq", graph=graph, which=_which(iris))):
        dialogue = row["dialogue"].value
        # The rows do not name calls, results and servers: any distinct names do.
        call = f"{dialogue}/{row['round'].value}/tool/{row['index'].value}"
        calls[dialogue].append(call)
        facts.add(call, _TOOL_CALL, row)
        facts.add(f"{call}/result", {"resultNode": KGB.text}, row)
        facts[f"{call}/result"][PROV.wasGeneratedBy] = call
        for name in ("arguments", "result"):
            text = {name: PROV.value, f"{name}Original": KGB.originalBytes}
            facts.add(row[f"{name}Node"].value, text, row)
        if row["serverName"] is not None:
            facts[call][PROV.wasAssociatedWith] = f"{call}/server"
            facts.add(f"{call}/server", _TOOL_SERVER, row)
    assembler = Assembler(facts)
    return {
        dialogue: assembler.uses(of_dialogue, [f"{call}/result" for call in of_dialogue])
        for dialogue, of_dialogue in calls.items()
    }


def _portion(store: Store, iris: Sequence[str]) -> dict[str, Dialogue]:
    rows = list(store.query(fill("whole-dialogues.rq", which=_which(iris))))
    facts = Facts()
    by_graph: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        facts.add(row["dialogue"].value, _DIALOGUE, row)
        by_graph[row["graph"].value].append(row["dialogue"].value)
    of_dialogues: dict[str, dict[int, Turn]] = {}
    for graph, names in by_graph.items():
        of_dialogues |= turns(store, graph, names)
    assembler = Assembler(facts)
    return {
        (name := row["dialogue"].value): assembler.dialogue(
            name, row["run"].value, of_dialogues.get(name, {}).values()
        )
        for row in rows
    }


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
