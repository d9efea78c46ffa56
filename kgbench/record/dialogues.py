# SPDX-License-Identifier: Apache-2.0
"""Triples -> whole dialogues: every call with its times, tokens and failures, not only answers.

The inverse of :class:`kgbench.record.Recorder`. What judging needs of many dialogues is read faster
by :func:`kgbench.record.reading.execution_dialogues`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from kgbench.errors import StoreError
from kgbench.model import Call, Dialogue, Outcome, Reply, Turn, Usage
from kgbench.rdf import iri, original_text
from kgbench.record import tool_uses
from kgbench.record.withheld import removed
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.tool_calls import ToolUse
from kgbench.vocab import DCTERMS, KGB, OUTCOME, PROV, SCHEMA

_AT_ONCE = 200  # dialogues that one query names
_NODES = 500  # nodes that one query names
_Facts: TypeAlias = dict[str, Any]  # the values of one node by property


def dialogues(store: Store, iris: Sequence[str]) -> Iterator[Dialogue]:
    """The dialogues with these IRIs, in this order, read in portions.

    A text that was removed for publication is given as
    :func:`~kgbench.record.withheld.removed` words it. Raises
    :class:`~kgbench.errors.StoreError` for one that the store lacks.
    """
    for begin in range(0, len(iris), _AT_ONCE):
        part = iris[begin : begin + _AT_ONCE]
        found = _portion(store, part)
        for name in part:
            if name not in found:
                raise StoreError(f"{store.location} holds no dialogue <{name}>")
            yield found[name]


def _portion(store: Store, iris: Sequence[str]) -> dict[str, Dialogue]:
    rows = list(store.query(fill("whole-dialogues.rq", which=_which(iris))))
    by_graph: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_graph[row["graph"].value].append(row["dialogue"].value)
    turns: dict[str, tuple[Turn, ...]] = {}
    for graph, within in by_graph.items():
        turns |= _turns(store, graph, within)
    return {
        (name := row["dialogue"].value): Dialogue(
            iri=name,
            run=row["run"].value,
            model=row["model"].value,
            task=row["task"].value,
            suite=row["suite"].value,
            case=row["case"].value,
            iteration=int(row["iteration"].value),
            digest=row["digest"].value,
            turns=turns.get(name, ()),
            started=_time(row["started"]),
            ended=None if row["ended"] is None else _time(row["ended"]),
            tool_protocol=_value(row["toolProtocol"]),
        )
        for row in rows
    }


def _which(iris: Sequence[str]) -> str:
    return f"VALUES ?dialogue {{ {' '.join(map(iri, iris))} }}"


def _turns(store: Store, graph: str, iris: Sequence[str]) -> dict[str, tuple[Turn, ...]]:
    """The turns of dialogues in one graph, by dialogue.

    Statements are asked for node by node: engines read a whole run to join what may be missing.
    """
    parts = {"graph": graph, "which": _which(iris)}
    calls = _facts(store.query(fill("whole-calls.rq", **parts)))
    answers = [r["entity"].value for r in store.query(fill("answers-of-dialogues.rq", **parts))]
    prompts = {facts[PROV.used].value for facts in calls.values()}
    messages = _described(store, graph, [*prompts, *answers])
    texts = _Texts(store, graph, messages.values())
    answer_of = {messages[one][PROV.wasGeneratedBy].value: messages[one] for one in answers}
    turns: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for call, facts in calls.items():
        turns[facts[DCTERMS.isPartOf].value][int(facts[KGB.round].value)].append(call)

    uses = tool_uses.read(store, graph, _which(iris))

    def turn(names: list[str], used: tuple[ToolUse, ...]) -> Turn:
        names.sort(key=_number)
        prompt = messages[calls[names[0]][PROV.used].value]
        return Turn(
            prompt=texts.of(prompt, KGB.text) or "",
            calls=tuple(_call(calls[name], answer_of.get(name), texts) for name in names),
            feedback=_value(prompt.get(KGB.feedback)),
            uses=used,
        )

    return {
        dialogue: tuple(turn(rounds[k], uses.get(dialogue, {}).get(k, ())) for k in sorted(rounds))
        for dialogue, rounds in turns.items()
    }


def _facts(rows: Any) -> dict[str, _Facts]:
    """Statements by node; of several values of a property, one."""
    found: dict[str, _Facts] = defaultdict(dict)
    for row in rows:
        found[row["node"].value][row["property"].value] = row["value"]
    return found


def _described(store: Store, graph: str, nodes: Sequence[str]) -> dict[str, _Facts]:
    found: dict[str, _Facts] = {}
    for begin in range(0, len(nodes), _NODES):
        named = " ".join(map(iri, nodes[begin : begin + _NODES]))
        found |= _facts(store.query(fill("statements-of-nodes.rq", graph=graph, nodes=named)))
    return found


class _Texts:
    """The texts of prompts and answers, each read once."""

    def __init__(self, store: Store, graph: str, messages: Iterable[_Facts]) -> None:
        kinds = (KGB.text, KGB.reasoning, KGB.extracted, KGB.providerState)
        nodes = {facts[kind].value for facts in messages for kind in kinds if kind in facts}
        self._texts = _described(store, graph, sorted(nodes))

    def of(self, facts: _Facts, kind: str) -> str | None:
        """The text that a message has by the property ``kind``, if any."""
        if kind not in facts:
            return None
        node = facts[kind].value
        text = self._texts[node]
        if PROV.value not in text:
            return removed(node)
        return original_text(text[PROV.value].value, _value(text.get(KGB.originalBytes)))


def _number(call: str) -> tuple[int, str]:
    """The place of a call in its turn; calls that others recorded have no number."""
    last = call.rpartition("/")[2]
    return (int(last) if last.isdecimal() else 0), call


def _call(facts: _Facts, answer: _Facts | None, texts: _Texts) -> Call:
    said = _value(facts.get(KGB.outcome))
    outcome = None if said is None else Outcome(said.removeprefix(OUTCOME))
    return Call(
        started=_time(facts[PROV.startedAtTime]),
        ended=_time(facts[PROV.endedAtTime]),
        reply=None if answer is None else _reply(facts, answer, outcome, texts),
        failure=outcome if answer is None else None,
        error=_value(facts.get(SCHEMA.error)),
        retries=_count(facts.get(KGB.retries)) or 0,
        reused=_value(facts.get(KGB.reusedAnswer)),
        batch=_value(facts.get(KGB.batch)),
    )


def _reply(facts: _Facts, answer: _Facts, outcome: Outcome | None, texts: _Texts) -> Reply:
    return Reply(
        text=texts.of(answer, KGB.text) or "",
        usage=Usage(
            input=_count(facts.get(KGB.inputTokens)),
            output=_count(facts.get(KGB.outputTokens)),
            cached=_count(facts.get(KGB.cachedTokens)),
            reasoning=_count(facts.get(KGB.reasoningTokens)),
        ),
        model=_value(facts.get(KGB.answeringModel)),
        finish_reason=_value(facts.get(KGB.finishReason)),
        request_id=_value(facts.get(KGB.requestId)),
        reasoning=texts.of(answer, KGB.reasoning),
        fingerprint=_value(facts.get(KGB.fingerprint)),
        outcome=outcome,
        extracted=texts.of(answer, KGB.extracted),
        extraction=_value(answer.get(KGB.extraction)),
        state=texts.of(answer, KGB.providerState),
    )


def _value(term: Any) -> str | None:
    return None if term is None else str(term.value)


def _count(term: Any) -> int | None:
    return None if term is None else int(term.value)


def _time(literal: Any) -> datetime:
    return datetime.fromisoformat(literal.value)
