# SPDX-License-Identifier: Apache-2.0
"""One dialogue, from its plan to its evaluations: the path every live answer takes.

Each turn (prompt, calls, answer) is one atomic write, made as soon as the answer is there and
before it is judged, so that a paid answer cannot be lost to a judge. The verdict follows in a
second write; with the last one comes the end of the dialogue. A dialogue that was interrupted is
gone through again with its stored answers: judging is pure, so nothing is asked twice and the
same evaluations come out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

from kgbench.connectors import extraction
from kgbench.engine.calls import CHARACTERS_PER_TOKEN, Channel
from kgbench.engine.desk import Desk
from kgbench.engine.pacing import GivenUp
from kgbench.engine.planning import Planned
from kgbench.engine.writer import Writer
from kgbench.evaluation import answer_evaluation, dialogue_evaluation
from kgbench.execution.judging import JudgeRequest
from kgbench.model import Call, Dialogue, Outcome, Request, TaskClass, Turn, Usage, Verdict
from kgbench.rdf import digest
from kgbench.record import Recorder
from kgbench.record.reuse import Answers
from kgbench.store.protocol import Block
from kgbench.tasks import catalogue

FINAL_FAILURES = frozenset({Outcome.CONTEXT_TOO_LONG})


class Ending(StrEnum):
    """How a dialogue ended in this session."""

    COMPLETE = "complete"
    FAILED = "failed"
    OPEN = "open"  # the run stopped before its next call


@dataclass(frozen=True, slots=True)
class Conversed:
    """What became of a planned dialogue; ``failure`` is the last call's where it failed.

    ``uncounted`` are the tokens, estimated, of answers that came without counts.
    """

    ending: Ending
    usage: Usage
    calls: int
    failure: Call | None = None
    uncounted: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store has of a dialogue already: its answered turns, and calls per round.

    ``again`` is how many dialogues of the same identity have been invalidated.
    """

    turns: Sequence[Turn] = ()
    calls: Mapping[int, int] = field(default_factory=dict)
    again: int = 0


class Conversations:
    """Holds the dialogues of a run; everything that they share."""

    def __init__(
        self,
        recorder: Recorder,
        writer: Writer,
        desk: Desk,
        *,
        entries: Callable[[Planned, Dialogue], list[Block]],
        earlier: Answers,
    ) -> None:
        self._recorder = recorder
        self._writer = writer
        self._desk = desk
        self._entries = entries
        self._earlier = earlier

    async def hold(self, planned: Planned, line: Channel, stored: Stored) -> Conversed:
        """Hold one dialogue to its end, or until a call fails for good, or the run stops."""
        dialogue = self._dialogue(planned, stored.again)
        task_class = catalogue.task_class(planned.exercise.task.task_class)
        prompt, feedback = planned.exercise.prompt, None
        verdicts: list[Verdict] = []
        made: list[Call] = []
        while True:
            k = len(verdicts)
            if k < len(stored.turns):
                turn = stored.turns[k]
                dialogue = replace(dialogue, turns=(*dialogue.turns, turn))
            else:
                try:
                    made.append(await self._call(planned, dialogue, prompt, line))
                except GivenUp:
                    await self._writer.put([])
                    return _conversed(Ending.OPEN, made)
                turn = Turn(prompt, (made[-1],), feedback)
                dialogue = replace(dialogue, turns=(*dialogue.turns, turn))
                self._write_turn(planned, dialogue, k, stored)
            if turn.answer is None:
                failure = made[-1].failure
                assert failure is not None
                if failure not in FINAL_FAILURES:
                    await self._writer.put([])
                    return _conversed(Ending.FAILED, made)
                verdict = Verdict({}, {"error": made[-1].error}, failure)
            else:
                request = JudgeRequest(planned.exercise.case, dialogue.answers)
                verdict = await self._desk.judge(dialogue.iri, request)
            verdicts.append(verdict)
            if verdict.next_prompt is None or k + 1 == task_class.max_rounds:
                break
            self._writer.post([self._judged(task_class, dialogue, verdict)])
            prompt, feedback = verdict.next_prompt, verdict.feedback
        await self._writer.put(self._closing(task_class, dialogue, verdicts))
        return _conversed(Ending.COMPLETE, made)

    def _dialogue(self, planned: Planned, again: int) -> Dialogue:
        exercise, model = planned.exercise, planned.model
        iris = self._recorder.iris
        return Dialogue(
            iri=self._recorder.dialogue_iri(
                model.label, exercise.task.label, planned.iteration, planned.digest, again
            ),
            run=self._recorder.run,
            model=model.iri,
            task=exercise.task.iri,
            suite=iris.mint("suite", suite=exercise.case.suite),
            case=exercise.case.iri,
            iteration=planned.iteration,
            digest=planned.digest,
        )

    async def _call(self, planned: Planned, dialogue: Dialogue, prompt: str, line: Channel) -> Call:
        said = [text for t in dialogue.turns for text in (t.prompt, t.answer) if text is not None]
        request = Request(
            messages=(*said, prompt),
            case=planned.exercise.case,
            seed=digest(f"{planned.digest}/{len(dialogue.turns)}"),
            iteration=planned.iteration,
        )
        known = self._earlier.take(dialogue.model, request.messages)
        if known is None:
            made = await line.call(request, dialogue.iri)
        else:
            now = datetime.now(UTC)
            made = Call(now, now, known[1], reused=known[0])
        if made.reply is None:
            return made
        return replace(made, reply=extraction.extracted(planned.model, made.reply))

    def _write_turn(self, planned: Planned, dialogue: Dialogue, k: int, stored: Stored) -> None:
        """Queue a turn; awaiting a later write says whether this one succeeded, too."""
        lines = self._recorder.turn(dialogue, k, calls_before=stored.calls.get(k, 0))
        blocks = self._entries(planned, dialogue) if k == 0 else []
        if not stored.calls and k == 0:
            started = dialogue.turns[0].calls[0].started
            lines = self._recorder.dialogue_start(dialogue, started) + lines
        self._writer.post([*blocks, Block(self._recorder.run_graph, lines)])

    def _judged(self, task_class: TaskClass, dialogue: Dialogue, verdict: Verdict) -> Block:
        """The evaluation of the last turn of ``dialogue``."""
        k = len(dialogue.turns) - 1
        iri = self._recorder.evaluation_iri(dialogue.iri, k)
        found = answer_evaluation(task_class, dialogue, k, verdict, iri)
        return Block(self._recorder.pass_graph, self._recorder.evaluation(found, dialogue))

    def _closing(
        self, task_class: TaskClass, dialogue: Dialogue, verdicts: Sequence[Verdict]
    ) -> list[Block]:
        """The evaluations of the last turn and of the whole, and the end of the dialogue."""
        recorder = self._recorder
        blocks = [self._judged(task_class, dialogue, verdicts[-1])]
        iri = recorder.evaluation_iri(dialogue.iri, None)
        whole = dialogue_evaluation(task_class, dialogue, verdicts, iri)
        if whole is not None:
            blocks.append(Block(recorder.pass_graph, recorder.evaluation(whole, dialogue)))
        ended = recorder.dialogue_end(dialogue, datetime.now(UTC))
        return [*blocks, Block(recorder.run_graph, [ended])]


def _conversed(ending: Ending, made: Sequence[Call]) -> Conversed:
    failed = made[-1] if made and made[-1].failure is not None else None
    asked = [call for call in made if call.reused is None]
    silent = sum(
        len(call.reply.text) for call in asked if call.reply and call.reply.usage.input is None
    )
    return Conversed(ending, _total(made), len(asked), failed, silent // CHARACTERS_PER_TOKEN)


def _total(calls: Sequence[Call]) -> Usage:
    def total(name: str) -> int | None:
        counts = [getattr(c.reply.usage, name) for c in calls if c.reply is not None]
        known = [n for n in counts if n is not None]
        return sum(known) if known else None

    return Usage(total("input"), total("output"), total("cached"), total("reasoning"))
