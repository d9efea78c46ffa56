# SPDX-License-Identifier: Apache-2.0
"""One dialogue, from its plan to its evaluations: the path every live answer takes.

Each turn (prompt, calls, answer) is one atomic write, made as soon as the answer is there and
before it is judged, so that a paid answer cannot be lost to a judge. The verdict follows in a
second write; with the last one comes the end of the dialogue. A dialogue that was interrupted is
gone through again with its stored answers: judging is pure, so nothing is asked twice and the
same evaluations come out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from kgbench import clock
from kgbench.connectors import CallAbandoned, extraction, tool_protocol
from kgbench.engine import planning
from kgbench.engine.calls import CHARACTERS_PER_TOKEN, Channel, outcome
from kgbench.engine.judge_queue import JudgeQueue
from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.replies import Replies
from kgbench.engine.tool_turns import ToolTurns
from kgbench.engine.writer import Writer
from kgbench.errors import ProviderError
from kgbench.evaluation import answer_evaluation, dialogue_evaluation
from kgbench.execution.dialogues import request as judge_request
from kgbench.model import Call, Dialogue, Outcome, Request, TaskClass, Turn, Usage, Verdict
from kgbench.rdf import digest
from kgbench.record import Recorder
from kgbench.record.reuse import ReusableAnswers
from kgbench.store.protocol import Block
from kgbench.tasks import catalogue, successors
from kgbench.tool_calls import TOOL_RESULTS, ToolUse
from kgbench.tool_servers.servers import ToolServers
from kgbench.tools.budget import Cost

FINAL_FAILURES = frozenset({Outcome.CONTEXT_TOO_LONG})
_FEW, _MANY = 8, 16  # hex digits of the digest in a dialogue's IRI


class Ending(StrEnum):
    """How a dialogue ended in this session."""

    COMPLETE = "complete"
    FAILED = "failed"
    OPEN = "open"  # the run stopped before its next call


@dataclass(frozen=True, slots=True)
class DialogueResult:
    """The result of holding a planned dialogue.

    ``dialogue`` is its IRI, and ``failure`` the last call if it failed. ``uncounted`` estimates the
    tokens of answers that came without token counts; it is ``None`` if all were counted.
    ``recovered`` counts answers that an earlier session had received but not stored; they are not
    among the ``calls``.
    """

    dialogue: str
    ending: Ending
    usage: Usage
    calls: int
    recovered: int = 0
    failure: Call | None = None
    uncounted: int | None = None


@dataclass(frozen=True, slots=True)
class StoredDialogue:
    """The stored part of a dialogue: its answered turns, and the number of calls per round.

    ``evaluations`` are the IRIs of the stored evaluations of its answers. ``again`` is the number
    of invalidated dialogues with the same identity.
    """

    turns: Sequence[Turn] = ()
    calls: Mapping[int, int] = field(default_factory=dict)
    again: int = 0
    evaluations: Collection[str] = ()


class Conversations:
    """The dialogues of a run, and the objects that they share.

    ``costs`` are the cost functions of models (by IRI), for dialogues with a cost limit.
    """

    def __init__(
        self,
        recorder: Recorder,
        writer: Writer,
        desk: JudgeQueue,
        *,
        entries: Callable[[PlannedDialogue, Dialogue], list[Block]],
        earlier: ReusableAnswers,
        replies: Replies,
        servers: ToolServers,
        costs: Mapping[str, Cost] | None = None,
    ) -> None:
        self._recorder = recorder
        self._writer = writer
        self._desk = desk
        self._entries = entries
        self._earlier = earlier
        self._replies = replies
        self._servers = servers
        self._costs = costs or {}

    async def hold(
        self, planned: PlannedDialogue, channel: Channel, stored: StoredDialogue
    ) -> DialogueResult:
        """Hold one dialogue until it ends, a call fails for good, or the run stops."""
        if not planned.tools:
            return await self._hold(planned, None, channel, stored)
        began = clock.now()
        try:
            planned, tools = await self._with_tools(planned)
        except ProviderError as error:
            return await self._record_tool_failure(planned, stored, error, began)
        return await self._hold(planned, tools, channel, stored)

    async def _hold(
        self,
        planned: PlannedDialogue,
        tools: ToolTurns | None,
        channel: Channel,
        stored: StoredDialogue,
    ) -> DialogueResult:
        """Ask, use tools, judge. An answer with tool calls gets their results and is not judged."""
        dialogue = self._dialogue(planned, stored.again)
        name = successors.successor(planned.exercise.task.task_class)
        task_class = catalogue.task_class(name)
        prompt, feedback = planned.exercise.prompt, None
        verdicts: list[Verdict] = []
        calls: list[Call] = []
        recovered = 0
        while True:
            k = len(dialogue.turns)
            if k < len(stored.turns):
                turn = stored.turns[k]
                dialogue = replace(dialogue, turns=(*dialogue.turns, turn))
            else:
                model_request = _request(planned, dialogue, prompt)
                call = self._replies.take(model_request, dialogue.iri)
                recovered += call is not None
                try:
                    call = call or await self._call(model_request, dialogue, channel)
                except CallAbandoned:
                    await self._writer.put([])
                    return _result(dialogue, Ending.OPEN, calls, recovered)
                calls.append(_with_answer(planned, call))
                turn = Turn(prompt, (calls[-1],), feedback)
                dialogue = replace(dialogue, turns=(*dialogue.turns, turn))
                self._write_turn(planned, dialogue, k, stored)
            if turn.answer is None:
                failure = calls[-1].failure
                assert failure is not None
                if failure not in FINAL_FAILURES:
                    await self._writer.put([])
                    return _result(dialogue, Ending.FAILED, calls, recovered)
                verdict = Verdict({}, {"error": calls[-1].error}, failure)
            else:
                if tools is not None:
                    replied = await tools.use(dialogue, turn.uses)
                    self._write_uses(dialogue, replied.uses, stored)
                    if replied.prompt is not None:
                        prompt, feedback = replied.prompt, TOOL_RESULTS
                        continue
                request = judge_request(dialogue, planned.exercise.case, k)
                verdict = await self._desk.judge(dialogue.iri, request)
            verdicts.append(verdict)
            if verdict.next_prompt is None or len(verdicts) == task_class.max_rounds:
                break
            self._writer.post(self._evaluation_blocks(task_class, dialogue, verdict, stored))
            prompt, feedback = verdict.next_prompt, verdict.feedback
        await self._writer.put(self._end_blocks(task_class, dialogue, verdicts, stored))
        return _result(dialogue, Ending.COMPLETE, calls, recovered)

    async def _with_tools(self, planned: PlannedDialogue) -> tuple[PlannedDialogue, ToolTurns]:
        """Return the dialogue with the tools of its case, or of the MCP server of its model."""
        ending = [tool.name for tool in planned.tools if tool.ends]
        equipment = await self._servers.equipment(planned.model, ending)
        if equipment is not None:
            planned = planning.with_server_tools(planned, equipment.tools)
        cost = self._costs.get(planned.model.iri, lambda _: None)
        return planned, ToolTurns(
            planned.exercise.case,
            planned.tools,
            self._desk,
            native=planned.native,
            equipment=equipment,
            cost=cost,
        )

    async def _record_tool_failure(
        self,
        planned: PlannedDialogue,
        stored: StoredDialogue,
        error: ProviderError,
        began: datetime,
    ) -> DialogueResult:
        """Record a failure of the tool server as a failed call.

        A dialogue that already has answers is left for the next session.
        """
        message = f"{type(error).__name__}: {error}"
        call = Call(began, clock.now(), failure=outcome(error), error=message)
        dialogue = self._dialogue(planned, stored.again)
        if not stored.turns:
            turn = Turn(planned.exercise.prompt, (call,))
            self._write_turn(planned, replace(dialogue, turns=(turn,)), 0, stored)
        await self._writer.put([])
        return replace(_result(dialogue, Ending.FAILED, [call], 0), calls=0)

    def _dialogue(self, planned: PlannedDialogue, again: int) -> Dialogue:
        exercise, model = planned.exercise, planned.model
        iris = self._recorder.iris
        return Dialogue(
            iri=self._recorder.dialogue_iri(
                model.label,
                exercise.task.label,
                planned.iteration,
                planned.digest,
                again,
                digits=_MANY if exercise.counted_alone else _FEW,
            ),
            run=self._recorder.run,
            model=model.iri,
            task=exercise.task.iri,
            suite=iris.mint("suite", suite=exercise.case.suite),
            case=exercise.case.iri,
            iteration=planned.iteration,
            digest=planned.digest,
            tool_protocol=_protocol(planned),
        )

    async def _call(self, request: Request, dialogue: Dialogue, channel: Channel) -> Call:
        known = self._earlier.take(dialogue.model, request.messages)
        if known is None:
            return await channel.call(request, dialogue.iri)
        now = clock.now()
        return Call(now, now, known[1], reused=known[0])

    def _write_turn(
        self, planned: PlannedDialogue, dialogue: Dialogue, k: int, stored: StoredDialogue
    ) -> None:
        """Queue a turn; a later awaited write fails if this one does."""
        lines = self._recorder.turn(dialogue, k, calls_before=stored.calls.get(k, 0))
        blocks = self._entries(planned, dialogue) if k == 0 else []
        if not stored.calls and k == 0:
            started = dialogue.turns[0].calls[0].started
            lines = self._recorder.dialogue_start(dialogue, started) + lines
        blocks.append(Block(self._recorder.run_graph, lines))
        answered = dialogue.turns[k].calls[-1].reply is not None
        turn = f"{dialogue.iri}/{k}"
        self._writer.post(blocks, (lambda: self._replies.remove_stored(turn)) if answered else None)

    def _write_uses(
        self, dialogue: Dialogue, uses: Sequence[ToolUse], stored: StoredDialogue
    ) -> None:
        """Queue the tool calls of the last answer, unless they are stored already."""
        turn = dialogue.turns[-1]
        if not uses or turn.uses:
            return
        k = len(dialogue.turns) - 1
        before = 0 if k < len(stored.turns) else stored.calls.get(k, 0)
        lines = self._recorder.tool_uses(dialogue, k, before + len(turn.calls) - 1, uses)
        self._writer.post([Block(self._recorder.run_graph, lines)])

    def _evaluation_blocks(
        self, task_class: TaskClass, dialogue: Dialogue, verdict: Verdict, stored: StoredDialogue
    ) -> list[Block]:
        """Return the evaluation of the last turn of ``dialogue``, unless it is stored already."""
        k = len(dialogue.turns) - 1
        iri = self._recorder.evaluation_iri(dialogue.iri, k)
        if iri in stored.evaluations:
            return []
        evaluation = answer_evaluation(task_class, dialogue, k, verdict, iri)
        return [self._recorder.evaluation_block(evaluation, dialogue)]

    def _end_blocks(
        self,
        task_class: TaskClass,
        dialogue: Dialogue,
        verdicts: Sequence[Verdict],
        stored: StoredDialogue,
    ) -> list[Block]:
        """Return the evaluations of the last turn and of the dialogue, and the dialogue's end."""
        recorder = self._recorder
        blocks = self._evaluation_blocks(task_class, dialogue, verdicts[-1], stored)
        iri = recorder.evaluation_iri(dialogue.iri, None)
        evaluation = dialogue_evaluation(task_class, dialogue, verdicts, iri)
        if evaluation is not None:
            blocks.append(recorder.evaluation_block(evaluation, dialogue))
        ended = recorder.dialogue_end(dialogue, clock.now())
        return [*blocks, Block(recorder.run_graph, [ended])]


def _protocol(planned: PlannedDialogue) -> str | None:
    if not planned.tools:
        return None
    return tool_protocol.NATIVE if planned.native else tool_protocol.TEXT


def _request(planned: PlannedDialogue, dialogue: Dialogue, prompt: str) -> Request:
    """Return the next request of a dialogue."""
    answered = [(t.prompt, reply) for t in dialogue.turns if (reply := t.calls[-1].reply)]
    messages = [text for before, reply in answered for text in (before, reply.answer)]
    return Request(
        messages=(*messages, prompt),
        case=planned.exercise.case,
        seed=digest(f"{planned.digest}/{len(dialogue.turns)}"),
        iteration=planned.iteration,
        tools=planned.tools if planned.native else (),
        states=tuple(reply.state for _, reply in answered) if planned.native else (),
    )


def _with_answer(planned: PlannedDialogue, call: Call) -> Call:
    """Return ``call`` with the answer extracted from its reply, if it has one."""
    if call.reply is None:
        return call
    return replace(call, reply=extraction.extracted(planned.model, call.reply))


def _result(
    dialogue: Dialogue, ending: Ending, all_calls: Sequence[Call], recovered: int
) -> DialogueResult:
    failed = all_calls[-1] if all_calls and all_calls[-1].failure is not None else None
    live = [call for call in all_calls if call.reused is None]
    silent = [len(c.reply.text) for c in live if c.reply and not c.reply.usage.counted]
    calls = len(live) - recovered
    uncounted = sum(silent) // CHARACTERS_PER_TOKEN if silent else None
    usage = _total(all_calls)
    return DialogueResult(dialogue.iri, ending, usage, calls, recovered, failed, uncounted)


def _total(calls: Sequence[Call]) -> Usage:
    def total(name: str) -> int | None:
        counts = [getattr(c.reply.usage, name) for c in calls if c.reply is not None]
        known = [n for n in counts if n is not None]
        return sum(known) if known else None

    return Usage(total("input"), total("output"), total("cached"), total("reasoning"))
