# SPDX-License-Identifier: Apache-2.0
"""A run that is under way: what it has stored, and everything that its dialogues share."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from kgbench import clock
from kgbench.config.specs import WITHOUT_COST
from kgbench.connectors.tool_servers import ToolServers
from kgbench.engine import planning
from kgbench.engine.planning import PlanExercises, PlannedDialogue
from kgbench.engine.queues import JudgeQueue, Writer
from kgbench.engine.replies import Replies, open_replies
from kgbench.engine.session import Progress, Settings, StopSignal, Watch
from kgbench.engine.spending import (
    CHARACTERS_PER_TOKEN,
    Limits,
    Spending,
    declared_prices,
)
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor, start_children, workers
from kgbench.model import Dialogue, ModelSetup, Plan, Turn
from kgbench.record import accounts, invalidation, reading
from kgbench.record.dialogues import dialogues
from kgbench.record.identity import ReusableAnswers
from kgbench.record.reading import DialogueState
from kgbench.record.recorded_results import EndpointResults, Results, recorded
from kgbench.record.recorder import Recorder, case_entry, model_entry, task_entry
from kgbench.software import this_software
from kgbench.store.iris import id_from, new_id
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

_SWITCH = 0.0005  # seconds
_REMEMBERED = 20_000  # catalogue entries and task executions


_TOO_LONG = "the conversation was too long, and is repeated as requested (--retry-errors)"


class Run:
    """A plan that is being run: its stored state, its record, its limits and its progress.

    Nothing is written before it is :meth:`opened`, and only then it has a ``writer``, ``judges``,
    ``replies`` and ``reusable`` answers. ``servers`` offer tools to models.

    Raises :class:`~kgbench.errors.ModelSpecError` for limits of cost without a price, and for a
    model that does not support the plan's tool protocol.
    """

    writer: Writer
    judges: JudgeQueue
    replies: Replies
    reusable: ReusableAnswers
    servers: ToolServers

    def __init__(
        self,
        store: Store,
        plan: Plan,
        settings: Settings,
        selection: PlanExercises,
        *,
        stop: StopSignal,
        watch: Watch,
    ) -> None:
        self.store = store
        self.plan = plan
        self.settings = settings
        self.exercises = selection.exercises
        self.stop = stop
        self.watch = watch
        self.journal = settings.journal
        run_id = new_id() if settings.run is None else settings.run.id
        self.recorder = Recorder(store.iris, run_id, id_from(f"live/{run_id}"))
        self.state = load_run_state(store, settings)
        paid = [setup.iri for setup in plan.models if setup.connector not in WITHOUT_COST]
        self.batched = set(paid) if plan.batch else set()
        self.spending = self._spending()
        self.spending.check_budgets(plan)
        self.progress = Progress(
            self.recorder.run,
            planning.dialogue_count(plan, self.exercises) * len(plan.models),
            passed_over=selection.passed_over,
            tool_protocols=planning.tool_protocols(plan, self.exercises),
        )
        self._selection = selection
        self._written: dict[str, None] = {}  # the latest used last

    def _spending(self) -> Spending:
        plan, run, used = self.plan, self.settings.run, self.state.usage
        limits = Limits(plan.max_cost, plan.max_tokens)
        uncounted = {}
        if limits != Limits() and run is not None and any(u.uncounted for u in used.values()):
            # This reads the texts of answers, and is needed only where a limit counts them.
            characters = accounts.uncounted_characters(self.store, run.graph)
            uncounted = {iri: number // CHARACTERS_PER_TOKEN for iri, number in characters.items()}
        entries = declared_prices(plan.prices)
        return Spending(plan.models, entries, used, uncounted, limits, batched=self.batched)

    # --- its dialogues --------------------------------------------------------------------------

    def dialogues(self, setup: ModelSetup) -> Iterator[PlannedDialogue]:
        """Yield the dialogues of a model that are to be held, and count the others."""
        limit, begun = self.settings.limit, 0
        for planned in planning.planned_dialogues(self.plan, self.exercises, setup):
            state = self.state.states.get(planned.digest)
            if state is not None and state.complete:
                self.progress.before += 1
                self.progress.invalidated += state.iri in self.state.invalidated
            elif state is not None and state.iri in self.state.closed:
                self.progress.left_open += 1
            elif setup.label not in self.progress.stopped_models:
                begun += 1
                if limit is None or begun <= limit:
                    yield planned

    async def stored(self, planned: PlannedDialogue) -> StoredDialogue:
        """Read the stored part of a dialogue; in a thread, while replies must be read."""
        known = (planned, self.store, self.recorder.pass_graph)
        if planned.digest in self.state.states:
            return await asyncio.to_thread(self.state.stored, *known)
        return self.state.stored(*known)

    def execution(self, planned: PlannedDialogue) -> str:
        """Return the IRI of the execution of a dialogue, which has one model and one task.

        It is named after their labels, and after their IRIs as well where the run has these labels
        for another model or task: configurations and versions of classes change between sessions.
        """
        model, task = planned.model, planned.exercise.task
        executions, recorder = self.state.executions, self.recorder
        if (model.iri, task.iri) not in executions:
            iri = recorder.execution_iri(model.label, task.label)
            if iri in executions.values():
                end = task.iri.rpartition("/")[2]
                label = f"{task.label}-{task.version}-{end}"
                iri = recorder.execution_iri(model.iri.rpartition("/")[2], label)
            executions[model.iri, task.iri] = iri
        return executions[model.iri, task.iri]

    def may_begin(self, planned: PlannedDialogue, read: int, written: int = 0) -> bool | None:
        """Return whether a dialogue of about these tokens may begin; ``None`` means not yet.

        If a limit leaves no room for it although no dialogue is under way, the run stops.
        """
        if self.stop.requested:
            return False
        limit = self.spending.begin(planned.model.iri, read, written)
        if limit is not None and self.spending.under_way:
            return None
        if limit is not None:
            self.stop.limit_reached(limit)
        return limit is None

    async def room(self) -> None:
        """Wait until a dialogue ends, which may make room for another, or the run stops."""
        if self.spending.under_way:
            await self.stop.or_else(self.spending.one_ended())

    def first_entries(self, planned: PlannedDialogue, dialogue: Dialogue) -> list[Block]:
        """Return catalogue entries and the task execution, unless an earlier dialogue needed them.

        Only the latest are remembered, since a long run can have a case for each dialogue. An entry
        that was forgotten is written again, which changes nothing.
        """
        recorder, iris = self.recorder, self.store.iris
        task, case, model = planned.exercise.task, planned.exercise.case, planned.model
        execution = dialogue.iri.rpartition("/")[0]
        catalogue: list[str] = []
        blocks = []
        if self._is_new(model.iri):
            catalogue += model_entry(model)
        if self._is_new(task.iri) and not planned.exercise.recorded:
            catalogue += task_entry(iris, task)
        if self._is_new(case.iri) and not planned.exercise.recorded:
            catalogue += case_entry(iris, case, task.version)
        if self._is_new(execution):
            lines = recorder.execution_triples(execution, model.iri, task.iri)
            blocks.append(Block(recorder.run_graph, lines))
        return [Block(iris.catalogue, catalogue), *blocks] if catalogue else blocks

    def _is_new(self, iri: str) -> bool:
        is_new = iri not in self._written
        self._written.pop(iri, None)
        self._written[iri] = None
        if len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]
        return is_new

    # --- a session of work ----------------------------------------------------------------------

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Record the begin of a session, start the writer and the judges, and end them in order."""
        store, settings, recorder, failed = self.store, self.settings, self.recorder, self.stop.fail
        log = open_replies(
            store, recorder.run_id, sync=settings.fsync, failed=failed, tell=settings.tell
        )
        with _short_switch_interval(), _frozen_memory(), log as self.replies:
            async with self._judging() as self.judges:
                run = settings.run
                number = 0 if run is None else reading.session_count(store, run.iri, run.graph)
                store.write(self._beginning(number))
                self.progress.began = time.monotonic()
                self.writer = Writer(store, asyncio.get_running_loop(), failed)
                models = [m.iri for m in self.plan.models] if settings.reuse_answers else []
                self.reusable = ReusableAnswers(store, models, recorder.run_graph)
                try:
                    yield
                finally:
                    await self.judges.close()
                    end = recorder.session_end(number, clock.now())
                    self.writer.post([Block(recorder.run_graph, [end])])
                    await self.writer.close()
                    store.publish_soon()

    def _beginning(self, number: int) -> list[Block]:
        """Return the software, the run and its live pass if they are new, and a session."""
        recorder, settings, plan, iris = self.recorder, self.settings, self.plan, self.store.iris
        software, now = this_software(), clock.now()
        agent = software.iri(iris)
        blocks = [Block(iris.catalogue, software.entry(iris))]
        if settings.run is None:
            suite = iris.mint("suite", suite=plan.suite)
            engine = engine_label(settings.engine)
            blocks += recorder.run_blocks(label=plan.name, suite=suite, started=now)
            blocks += recorder.pass_blocks(kind="live", started=now, agent=agent, engine=engine)
        if settings.endpoint is not None:
            blocks.append(recorder.pass_facts(endpoints=[settings.endpoint]))
        if self._selection.later_metrics:
            blocks.append(recorder.pass_metrics(self._selection.later_metrics))
        if self._selection.judged:
            blocks.append(recorder.pass_facts(judged=self._selection.judged))
        lines = recorder.session_start(number, clock.now(), agent, plan, self.progress.planned)
        for paid in self.spending.prices_to_record(plan.models):
            lines += recorder.session_price(number, paid)
        return [*blocks, Block(recorder.run_graph, lines)]

    @asynccontextmanager
    async def _judging(self) -> AsyncIterator[JudgeQueue]:
        """Start the judges, and shut them down at the end of the session."""
        limits = JudgeLimits(seconds=self.plan.judge_timeout, engine=self.settings.engine)
        chosen = self.settings.executor
        pool = executor(chosen) if isinstance(chosen, str) else chosen
        start_children(pool, limits, self.plan.classes)
        try:
            yield JudgeQueue(pool, limits, workers(pool), self._endpoint())
        finally:
            await asyncio.get_running_loop().run_in_executor(None, pool.shutdown)

    def _endpoint(self) -> EndpointResults | None:
        """Return the endpoint, if any, with its recorded results for the answers of the run."""
        if self.settings.endpoint is None:
            return None
        noted: dict[str, Results] = {}
        if self.settings.run is not None:
            for execution in reading.executions(self.store, self.recorder.run_graph):
                noted |= recorded(self.store, [self.recorder.pass_graph], execution)
        return EndpointResults(
            Endpoint(self.settings.endpoint, self.plan.judge_timeout).select, noted
        )


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Shorten the interpreter's thread switch interval during a session.

    The threads that write and judge return from work outside the interpreter many times a second.
    With the default interval of 5 ms each return waits that long for the event loop, which costs a
    tenth of the run time when answers come immediately.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, _SWITCH))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


@contextmanager
def _frozen_memory() -> Iterator[None]:
    """Exclude the objects that exist now from garbage collection, which stops the event loop.

    A full collection over all modules takes 40 ms, in which no arrived reply is read.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


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


@dataclass(frozen=True, slots=True)
class RunState:
    """The content of a run's graph at the beginning of a session.

    ``states`` are the current dialogues by their identity (digest), ``closed`` the IRIs of
    dialogues that are not continued, ``invalidated`` those of invalidated ones, ``invalid`` the
    number of invalidated dialogues per identity, ``usage`` the tokens by model IRI. ``outdated``
    are the IRIs of complete dialogues that are to be repeated, by identity. ``executions`` are
    the IRIs of task executions by model and task (IRIs); those of the session are added.
    """

    states: Mapping[str, DialogueState] = field(default_factory=dict)
    closed: Collection[str] = ()
    invalidated: Collection[str] = ()
    invalid: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, accounts.Usage] = field(default_factory=dict)
    outdated: Mapping[str, str] = field(default_factory=dict)
    executions: dict[tuple[str, str], str] = field(default_factory=dict)

    def stored(self, planned: PlannedDialogue, store: Store, pass_graph: str) -> StoredDialogue:
        """Read the stored part of a planned dialogue, with its evaluations of the live pass."""
        state = self.states.get(planned.digest)
        again = self.invalid.get(planned.digest, 0)
        if state is None:
            return StoredDialogue(again=again)
        (dialogue,) = dialogues(store, [state.iri])
        answered = tuple(turn for turn in dialogue.turns if turn.answer is not None)
        calls = {k: len(turn.calls) for k, turn in enumerate(dialogue.turns)}
        values = f"VALUES ?dialogue {{ <{state.iri}> }}"
        rows = store.query(fill("dialogue-evaluations.rq", graph=pass_graph, which=values))
        return StoredDialogue(answered, calls, again, {row["entity"].value for row in rows})


def load_run_state(store: Store, settings: Settings) -> RunState:
    """Read the state of the run that ``settings`` continue; it is empty for a new run."""
    if settings.run is None:
        return RunState()
    graph = settings.run.graph
    states = reading.all_states(store, graph)
    invalidated = reading.invalid(store, graph)
    again = _overflowed(store, graph) if settings.retry_errors else set()
    outdated = {
        digest: group[-1].iri
        for digest, group in states.items()
        if group[-1].iri in again and group[-1].iri not in invalidated
    }
    invalid = {
        digest: sum(dialogue.iri in invalidated for dialogue in group) + (digest in outdated)
        for digest, group in states.items()
    }
    if settings.redo_invalidated:
        again |= set(invalidated)
    current = {digest: group[-1] for digest, group in states.items() if group[-1].iri not in again}
    failed = () if settings.retry_errors is not False else accounts.failed_dialogues(store, graph)
    closed = {*invalidated, *failed}
    executions = {(e.model, e.task): e.iri for e in reading.executions(store, graph)}
    used = accounts.usage(store, graph)
    return RunState(current, closed, invalidated, invalid, used, outdated, executions)


def invalidate_outdated(
    store: Store, settings: Settings, state: RunState, planned: Iterable[PlannedDialogue]
) -> None:
    """Invalidate the outdated dialogues among those ``planned``, which are repeated."""
    if settings.run is None or not state.outdated:
        return
    digests = {dialogue.digest for dialogue in planned}
    iris = [iri for digest, iri in state.outdated.items() if digest in digests]
    if iris:
        graph_of = dict.fromkeys(iris, settings.run.graph)
        invalidation.invalidate_dialogues(store, graph_of, _TOO_LONG, "kgbench run")


def _overflowed(store: Store, graph: str) -> set[str]:
    """Return the dialogues that ended because the conversation was too long for the model."""
    rows = store.query(fill("overflowed-dialogues.rq", graph=graph))
    return {row["dialogue"].value for row in rows}
