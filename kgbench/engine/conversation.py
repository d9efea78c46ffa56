# SPDX-License-Identifier: Apache-2.0
"""One dialogue, from its plan to its evaluations: the path every live answer takes.

Each turn (prompt, calls, answer) is one atomic write, made as soon as the answer is there and
before it is judged, so that a paid answer cannot be lost to a judge. The verdict follows in a
second write; with the last one comes the end of the dialogue. A dialogue that was interrupted is
gone through again with its stored answers: judging is pure, so nothing is asked twice and the
same evaluations come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kgbench import clock
from kgbench.connectors import CallAbandoned, extraction
from kgbench.connectors.declared import NATIVE, TEXT
from kgbench.engine import planning
from kgbench.engine.calls import Channel, outcome
from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.run import Run, StoredDialogue
from kgbench.engine.spending import CHARACTERS_PER_TOKEN
from kgbench.engine.tool_turns import ToolTurns
from kgbench.errors import ProviderError
from kgbench.execution.judging import JudgeRequest
from kgbench.model import Call, Dialogue, Outcome, Request, Turn, Usage, Verdict
from kgbench.rdf import digest
from kgbench.record.evaluations import answer_evaluation, dialogue_evaluation
from kgbench.store.protocol import Block
from kgbench.tasks import catalogue
from kgbench.tool_calls import TOOL_RESULTS, ToolUse

FINAL_FAILURES = frozenset({Outcome.CONTEXT_TOO_LONG})
_FEW, _MANY = 8, 16  # hex digits of the digest in a dialogue's IRI


class Ending(StrEnum):
    """How a dialogue ended in this session."""

    COMPLETE = "complete"
    FAILED = "failed"
    OPEN = "open"  # the run stopped before its next call, or a batch is to answer it


@dataclass(frozen=True, slots=True)
class DialogueResult:
    """The result of holding a dialogue; its numbers are those since it was held last.

    ``failure`` is the last call if it failed. ``uncounted`` estimates the tokens of answers that
    came without token counts; it is ``None`` if all were counted. ``recovered`` counts answers that
    an earlier session had received but not stored; they are not among the ``calls``.
    """

    ending: Ending
    usage: Usage
    calls: int
    recovered: int = 0
    failure: Call | None = None
    uncounted: int | None = None


class Conversation:
    """A planned dialogue under way: what has been said in it, and what of it was ``stored``."""

    def __init__(self, run: Run, planned: PlannedDialogue, stored: StoredDialogue) -> None:
        self.planned = planned
        self._run = run
        self._stored = stored
        exercise, model = planned.exercise, planned.model
        native = NATIVE if planned.native else TEXT
        self._dialogue = Dialogue(
            iri=run.recorder.dialogue_iri(
                run.execution(planned),
                planned.iteration,
                planned.digest,
                stored.again,
                digits=_MANY if exercise.counted_alone else _FEW,
            ),
            run=run.recorder.run,
            model=model.iri,
            task=exercise.task.iri,
            suite=run.store.iris.mint("suite", suite=exercise.case.suite),
            case=exercise.case.iri,
            iteration=planned.iteration,
            digest=planned.digest,
            tool_protocol=native if planned.tools else None,
        )
        name = catalogue.successor(exercise.task.task_class)
        self._task_class = catalogue.task_class(name)
        self._tools: ToolTurns | None = None
        self._prompt: str = exercise.prompt
        self._feedback: str | None = None
        self._verdicts: list[Verdict] = []
        self._calls: list[Call] = []  # since it was held last
        self._recovered = 0

    async def hold(self, channel: Channel) -> DialogueResult:
        """Hold the dialogue until it ends, a call fails for good, or ``channel`` abandons a call.

        After an abandoned call it stays open: held again, it goes on with the same call.
        """
        self._calls, self._recovered = [], 0
        if self.planned.tools and self._tools is None:
            began = clock.now()
            try:
                self._tools = await self._equip()
            except ProviderError as error:
                message = f"{type(error).__name__}: {error}"
                call = Call(began, clock.now(), failure=outcome(error), error=message)
                return await self._fail(call)
        ending = None
        while ending is None:
            try:
                await self._take_turn(channel)
            except CallAbandoned:
                ending = Ending.OPEN
            else:
                ending = await self._answer_turn()
        return await self._end(ending)

    async def _take_turn(self, channel: Channel) -> None:
        """Add the next turn, from the store or by a call, whose turn is written at once."""
        k = len(self._dialogue.turns)
        if k < len(self._stored.turns):
            self._add(self._stored.turns[k])
        else:
            call = await self._call(channel)
            self._calls.append(call)
            self._add(Turn(self._prompt, (call,), self._feedback))
            self._write_turn()

    async def _answer_turn(self) -> Ending | None:
        """Use the tools that the last answer calls, or judge it; ``None`` if a turn follows."""
        turn = self._dialogue.turns[-1]
        if turn.answer is None:
            failed = turn.calls[-1]
            assert failed.failure is not None
            if failed.failure not in FINAL_FAILURES:
                return Ending.FAILED
            verdict = Verdict({}, {"error": failed.error}, failed.failure)
        else:
            if self._tools is not None:
                replied = await self._tools.use(self._dialogue, turn.uses)
                self._write_uses(replied.uses)
                if replied.prompt is not None:
                    self._prompt, self._feedback = replied.prompt, TOOL_RESULTS
                    return None
            k = len(self._dialogue.turns) - 1
            request = JudgeRequest.of(self._dialogue, self.planned.exercise.case, k)
            verdict = await self._run.judges.judge(self._dialogue.iri, request)
        self._verdicts.append(verdict)
        if verdict.next_prompt is None or len(self._verdicts) == self._task_class.max_rounds:
            return Ending.COMPLETE
        self._run.writer.post(self._evaluation_blocks(verdict))
        self._prompt, self._feedback = verdict.next_prompt, verdict.feedback
        return None

    async def _equip(self) -> ToolTurns:
        """Take the tools of the case, or of the MCP server of the model."""
        planned, run = self.planned, self._run
        ending = [tool.name for tool in planned.tools if tool.ends]
        equipment = await run.servers.equipment(planned.model, ending)
        if equipment is not None:
            planned = self.planned = planning.with_server_tools(planned, equipment.tools)
            self._prompt = planned.exercise.prompt
        price = run.spending.prices[planned.model.iri]
        return ToolTurns(
            planned.exercise.case,
            planned.tools,
            run.judges,
            native=planned.native,
            equipment=equipment,
            cost=(lambda _: None) if price is None else price.cost,
        )

    async def _fail(self, call: Call) -> DialogueResult:
        """Record a failure of the tool server as a failed call.

        A dialogue that already has answers is left for the next session.
        """
        self._calls.append(call)
        if not self._stored.turns:
            self._add(Turn(self._prompt, (call,)))
            self._write_turn()
        return replace(await self._end(Ending.FAILED), calls=0)

    def _add(self, turn: Turn) -> None:
        self._dialogue = replace(self._dialogue, turns=(*self._dialogue.turns, turn))

    async def _call(self, channel: Channel) -> Call:
        """Return a call with a reply from the reply log, of another run, or of the model."""
        request, dialogue, run = self._request(), self._dialogue, self._run
        call = run.replies.take(request, dialogue.iri)
        self._recovered += call is not None
        if call is None and (known := run.reusable.take(dialogue.model, request.messages)):
            now = clock.now()
            call = Call(now, now, known[1], reused=known[0])
        call = call or await channel.call(request, dialogue.iri)
        if call.reply is None:
            return call
        return replace(call, reply=extraction.extracted(self.planned.model, call.reply))

    def _request(self) -> Request:
        planned, turns = self.planned, self._dialogue.turns
        answered = [(t.prompt, reply) for t in turns if (reply := t.calls[-1].reply)]
        messages = [text for before, reply in answered for text in (before, reply.answer)]
        return Request(
            messages=(*messages, self._prompt),
            case=planned.exercise.case,
            seed=digest(f"{planned.digest}/{len(turns)}"),
            iteration=planned.iteration,
            tools=planned.tools if planned.native else (),
            states=tuple(reply.state for _, reply in answered) if planned.native else (),
        )

    # --- what is written ------------------------------------------------------------------------

    def _write_turn(self) -> None:
        """Queue the last turn; a later awaited write fails if this one does."""
        run, dialogue, stored = self._run, self._dialogue, self._stored
        k = len(dialogue.turns) - 1
        lines = run.recorder.turn(dialogue, k, calls_before=stored.calls.get(k, 0))
        blocks = run.first_entries(self.planned, dialogue) if k == 0 else []
        if not stored.calls and k == 0:
            started = dialogue.turns[0].calls[0].started
            lines = run.recorder.dialogue_start(dialogue, started) + lines
        blocks.append(Block(run.recorder.run_graph, lines))
        answered = dialogue.turns[k].calls[-1].reply is not None
        turn = f"{dialogue.iri}/{k}"
        run.writer.post(blocks, (lambda: run.replies.remove_stored(turn)) if answered else None)

    def _write_uses(self, uses: Sequence[ToolUse]) -> None:
        """Queue the tool calls of the last answer, unless they are stored already."""
        turn, recorder = self._dialogue.turns[-1], self._run.recorder
        if not uses or turn.uses:
            return
        k = len(self._dialogue.turns) - 1
        before = 0 if k < len(self._stored.turns) else self._stored.calls.get(k, 0)
        lines = recorder.tool_uses(self._dialogue, k, before + len(turn.calls) - 1, uses)
        self._run.writer.post([Block(recorder.run_graph, lines)])

    def _evaluation_blocks(self, verdict: Verdict) -> list[Block]:
        """Return the evaluation of the last turn, unless it is stored already."""
        recorder, dialogue = self._run.recorder, self._dialogue
        k = len(dialogue.turns) - 1
        iri = recorder.evaluation_iri(dialogue.iri, k)
        if iri in self._stored.evaluations:
            return []
        evaluation = answer_evaluation(self._task_class, dialogue, k, verdict, iri)
        return [recorder.evaluation_block(evaluation, dialogue)]

    def _end_blocks(self) -> list[Block]:
        """Return the evaluations of the last turn and of the dialogue, and the dialogue's end."""
        recorder, dialogue = self._run.recorder, self._dialogue
        blocks = self._evaluation_blocks(self._verdicts[-1])
        iri = recorder.evaluation_iri(dialogue.iri, None)
        evaluation = dialogue_evaluation(self._task_class, dialogue, self._verdicts, iri)
        if evaluation is not None:
            blocks.append(recorder.evaluation_block(evaluation, dialogue))
        ended = recorder.dialogue_end(dialogue, clock.now())
        return [*blocks, Block(recorder.run_graph, [ended])]

    async def _end(self, ending: Ending) -> DialogueResult:
        """Wait until everything is stored, and return the result."""
        await self._run.writer.put(self._end_blocks() if ending is Ending.COMPLETE else [])
        calls = self._calls
        live = [call for call in calls if call.reused is None]
        silent = [len(c.reply.text) for c in live if c.reply and not c.reply.usage.counted]
        return DialogueResult(
            ending,
            _total(calls),
            len(live) - self._recovered,
            self._recovered,
            calls[-1] if calls and calls[-1].failure is not None else None,
            sum(silent) // CHARACTERS_PER_TOKEN if silent else None,
        )


def _total(calls: Sequence[Call]) -> Usage:
    def total(name: str) -> int | None:
        counts = [getattr(c.reply.usage, name) for c in calls if c.reply is not None]
        known = [n for n in counts if n is not None]
        return sum(known) if known else None

    return Usage(total("input"), total("output"), total("cached"), total("reasoning"))
