# SPDX-License-Identifier: Apache-2.0
"""Statements about dialogues and evaluations -> :mod:`kgbench.model`.

The inverse of :class:`kgbench.record.Recorder`: turns statements into dialogues, turns, calls, tool
uses and evaluations. Its callers find the statements: by SPARQL in a store
(:mod:`kgbench.record.dialogues`); by the indexes of a database, redacted and with published IRIs
(:mod:`kgbench.publish.dialogues`); or among the statements of an export
(:mod:`kgbench.exports.outgoing_run`).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol

from kgbench.errors import StoreError
from kgbench.model import Call, Dialogue, Evaluation, Json, Outcome, Reply, Turn, Usage
from kgbench.rdf import original_text
from kgbench.record.withheld import LEFT_OUT
from kgbench.tool_calls import Fault, ToolCall, ToolOutcome, ToolResult, ToolServer, ToolUse
from kgbench.vocab import KGB, OUTCOME, PROV, SCHEMA, SKOS, TOOL_OUTCOME

Uses = Mapping[int, tuple[ToolUse, ...]]
"""The tool uses of a dialogue by round."""

_NUMBER = re.compile(r"[-/]([0-9]+)$")


class Statements(Protocol):
    """A source of statements."""

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of the property ``name`` of ``subject`` (IRIs), if it has one."""


def required(source: Statements, subject: str, name: str) -> str:
    """Return the value of a mandatory property.

    Raises :class:`~kgbench.errors.StoreError` if it is missing.
    """
    value = source.value(subject, name)
    if value is None:
        raise StoreError(f"<{subject}> has no {name}: the store is damaged")
    return value


class Assembler:
    """Builds dialogues from the statements of one source."""

    def __init__(self, source: Statements) -> None:
        self._source = source

    def dialogue(self, iri: str, run: str, turns: Iterable[Turn]) -> Dialogue:
        """Build the dialogue ``iri`` of a run (IRI) with these turns."""
        ended = self._source.value(iri, PROV.endedAtTime)
        return Dialogue(
            iri=iri,
            run=run,
            model=self._required(iri, KGB.model),
            task=self._required(iri, KGB.task),
            suite=self._required(iri, KGB.suite),
            case=self._required(iri, KGB.case),
            iteration=int(self._required(iri, KGB.iteration)),
            digest=self._source.value(iri, KGB.digest) or "",  # publications may leave it out
            turns=tuple(turns),
            started=self._time(iri, PROV.startedAtTime),
            ended=None if ended is None else datetime.fromisoformat(ended),
            tool_protocol=self._source.value(iri, KGB.toolProtocol),
        )

    def turns(
        self, calls: Iterable[str], answers: Iterable[str], uses: Uses, prompts: Iterable[str] = ()
    ) -> dict[int, Turn]:
        """Build the turns of a dialogue from the IRIs of its parts, by round in order.

        ``prompts`` is needed only for prompts that no call has used yet.
        """
        by_round: dict[int, list[str]] = defaultdict(list)
        for call in calls:
            by_round[self._round(call)].append(call)
        prompt_of = {self._round(prompt): prompt for prompt in prompts}
        for k, names in by_round.items():
            names.sort(key=call_order)
            prompt_of[k] = self._required(names[0], PROV.used)
        answer_of = {self._source.value(answer, PROV.wasGeneratedBy): answer for answer in answers}
        return {
            k: Turn(
                prompt=self._text(prompt, KGB.text) or "",
                calls=tuple(self._call(call, answer_of.get(call)) for call in by_round[k]),
                feedback=self._source.value(prompt, KGB.feedback),
                uses=uses.get(k, ()),
            )
            for k, prompt in sorted(prompt_of.items())
        }

    def uses(self, tool_calls: Iterable[str], results: Iterable[str]) -> Uses:
        """Build the tool uses of a dialogue from the IRIs of the calls and of their results."""
        by_round: dict[int, list[tuple[int, ToolUse]]] = defaultdict(list)
        result_of = {self._source.value(result, PROV.wasGeneratedBy): result for result in results}
        for call in tool_calls:
            index = int(self._required(call, KGB.callIndex))
            by_round[self._round(call)].append((index, self._use(call, result_of.get(call))))
        return {
            k: tuple(use for _, use in sorted(indexed, key=lambda pair: pair[0]))
            for k, indexed in by_round.items()
        }

    def _use(self, call: str, result: str | None) -> ToolUse:
        source = self._source
        fault = source.value(call, KGB.toolFault)
        agent = source.value(call, PROV.wasAssociatedWith)
        outcome = self._required(call, KGB.toolOutcome).removeprefix(TOOL_OUTCOME)
        return ToolUse(
            ToolCall(
                source.value(call, KGB.tool) or "",
                self._text(call, PROV.used) or "",
                source.value(call, KGB.toolCallId),
                source.value(call, SCHEMA.error),
            ),
            ToolResult(
                (None if result is None else self._text(result, KGB.text)) or "",
                ToolOutcome(outcome),
                None if fault is None else Fault(fault),
            ),
            self._time(call, PROV.startedAtTime),
            self._time(call, PROV.endedAtTime),
            None if agent is None else self._server(agent),
        )

    def _server(self, agent: str) -> ToolServer:
        names = (SKOS.notation, SCHEMA.softwareVersion, KGB.digest)
        return ToolServer(*(self._required(agent, name) for name in names))

    def _call(self, call: str, answer: str | None) -> Call:
        source = self._source
        word = source.value(call, KGB.outcome)
        outcome = None if word is None else Outcome(word.removeprefix(OUTCOME))
        return Call(
            started=self._time(call, PROV.startedAtTime),
            ended=self._time(call, PROV.endedAtTime),
            reply=None if answer is None else self._reply(call, answer, outcome),
            failure=outcome if answer is None else None,
            error=source.value(call, SCHEMA.error),
            retries=self._count(call, KGB.retries) or 0,
            reused=source.value(call, KGB.reusedAnswer),
            batch=source.value(call, KGB.batch),
        )

    def _reply(self, call: str, answer: str, outcome: Outcome | None) -> Reply:
        source = self._source
        return Reply(
            text=self._text(answer, KGB.text) or "",
            usage=Usage(
                input=self._count(call, KGB.inputTokens),
                output=self._count(call, KGB.outputTokens),
                cached=self._count(call, KGB.cachedTokens),
                reasoning=self._count(call, KGB.reasoningTokens),
            ),
            model=source.value(call, KGB.answeringModel),
            finish_reason=source.value(call, KGB.finishReason),
            request_id=source.value(call, KGB.requestId),
            reasoning=self._text(answer, KGB.reasoning),
            fingerprint=source.value(call, KGB.fingerprint),
            outcome=outcome,
            extracted=self._text(answer, KGB.extracted),
            extraction=source.value(answer, KGB.extraction),
            state=self._text(answer, KGB.providerState),
        )

    def _text(self, subject: str, name: str) -> str | None:
        """Return the content of the text that is the value of a property, if any."""
        node = self._source.value(subject, name)
        if node is None:
            return None
        value = self._source.value(node, PROV.value)
        if value is None:
            return LEFT_OUT
        return original_text(value, self._source.value(node, KGB.originalBytes))

    def _required(self, subject: str, name: str) -> str:
        return required(self._source, subject, name)

    def _time(self, subject: str, name: str) -> datetime:
        return datetime.fromisoformat(self._required(subject, name))

    def _count(self, subject: str, name: str) -> int | None:
        value = self._source.value(subject, name)
        return None if value is None else int(value)

    def _round(self, part: str) -> int:
        return int(self._required(part, KGB.round))


def evaluation(source: Statements, iri: str, scores: Mapping[str, float]) -> Evaluation:
    """Build the evaluation ``iri``; ``scores`` are its values by metric IRI."""
    decimals = source.value(iri, KGB.decimals)
    return Evaluation(
        iri=iri,
        dialogue=required(source, iri, KGB.dialogue),
        round=round_of(source, iri),
        outcome=Outcome(required(source, iri, KGB.outcome).removeprefix(OUTCOME)),
        scores=scores,
        infos=_infos(source.value(iri, KGB.infos)),
        revises=source.value(iri, PROV.wasRevisionOf),
        decimals=None if decimals is None else int(decimals),
    )


def round_of(source: Statements, evaluation: str) -> int | None:
    """Return the round of the answer that an evaluation judges; ``None`` for the whole dialogue.

    Imported results may hold anything: a value that is not a number counts as round 0.
    """
    number = source.value(evaluation, KGB.round)
    if number is None:
        return None
    return int(number) if number.isdecimal() else 0


def _infos(text: str | None) -> dict[str, Json]:
    """Parse infos; imported literals that are not JSON objects give none."""
    try:
        infos = {} if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return infos if isinstance(infos, dict) else {}


def call_order(call: str) -> tuple[int, str]:
    """Return the sort key of a call within its turn: the number that its IRI ends with."""
    number = _NUMBER.search(call)
    return (0 if number is None else int(number[1])), call
