# SPDX-License-Identifier: Apache-2.0
"""Statements about dialogues and evaluations -> :mod:`kgbench.model`.

The inverse of :class:`~kgbench.record.recorder.Recorder`: turns statements into dialogues, turns,
calls, tool uses and evaluations. Its callers find the statements: by SPARQL in a store
(:mod:`kgbench.record.dialogues`); by the indexes of a database, redacted and with published IRIs
(:mod:`kgbench.publish.dialogues`); or among the statements of an export
(:mod:`kgbench.exports.outgoing_run`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kgbench.model import Call, Dialogue, Evaluation, Reply, Turn, Usage
from kgbench.record import schema
from kgbench.record.schema import Source, required
from kgbench.tool_calls import Fault, ToolCall, ToolResult, ToolServer, ToolUse
from kgbench.vocab import KGB, PROV

Uses = Mapping[int, tuple[ToolUse, ...]]
"""The tool uses of a dialogue by round."""

_NUMBER = re.compile(r"[-/]([0-9]+)$")


class Assembler:
    """Builds dialogues from the statements of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def dialogue(self, iri: str, run: str, turns: Iterable[Turn]) -> Dialogue:
        """Build the dialogue ``iri`` of a run (IRI) with these turns."""
        said = self._read("Dialogue", iri, Dialogue)
        return Dialogue(iri=iri, run=run, turns=tuple(turns), **said)

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
                calls=tuple(self._call(call, answer_of.get(call)) for call in by_round[k]),
                uses=uses.get(k, ()),
                **self._read("Prompt", prompt, Turn),
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
        returned = self._read("ToolCall", call, ToolResult) | {"text": ""}
        if returned["fault"] is not None:
            returned["fault"] = Fault(returned["fault"])
        if result is not None:
            returned |= self._read("ToolResult", result, ToolResult)
        said = self._read("ToolCall", call, ToolUse)
        if (agent := said["server"]) is not None:
            said["server"] = ToolServer(**self._read("ToolServer", agent, ToolServer))
        given = ToolCall(**self._read("ToolCall", call, ToolCall))
        return ToolUse(call=given, result=ToolResult(**returned), **said)

    def _call(self, call: str, answer: str | None) -> Call:
        said = self._read("ModelCall", call, Call)
        reply = self._read("ModelCall", call, Reply)
        if answer is None:
            return Call(**said, failure=reply["outcome"])
        usage = Usage(**self._read("ModelCall", call, Usage))
        reply |= self._read("Answer", answer, Reply)
        return Call(**said, reply=Reply(**reply, usage=usage))

    def _read(self, shape: str, iri: str, kind: type) -> dict[str, Any]:
        return schema.of(shape).read(self._source, iri, kind)

    def _round(self, part: str) -> int:
        return int(self._required(part, KGB.round))

    def _required(self, subject: str, name: str) -> str:
        return required(self._source, subject, name)


def evaluation(source: Source, iri: str, scores: Mapping[str, float]) -> Evaluation:
    """Build the evaluation ``iri``; ``scores`` are its values by metric IRI."""
    said = schema.of("Evaluation").read(source, iri, Evaluation)
    return Evaluation(iri=iri, scores=scores, **said)


def call_order(call: str) -> tuple[int, str]:
    """Return the sort key of a call within its turn: the number that its IRI ends with."""
    number = _NUMBER.search(call)
    return (0 if number is None else int(number[1])), call
