# SPDX-License-Identifier: Apache-2.0
"""A session of work on a run: its recorded begin and end, and the writer and judges between."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from kgbench import clock
from kgbench.engine.conversation import Conversations
from kgbench.engine.journal import Journal
from kgbench.engine.judge_queue import JudgeQueue
from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.replies import OnFailure, Replies, open_replies
from kgbench.engine.writer import Writer
from kgbench.execution.endpoint import Endpoint
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor, start_children, workers
from kgbench.model import Dialogue, Plan
from kgbench.record import Recorder, case_entry, model_entry, reading, task_entry
from kgbench.record.accounts import SessionPrice
from kgbench.record.reading import RunInfo
from kgbench.record.recorded_results import EndpointResults, Results, recorded
from kgbench.record.reuse import ReusableAnswers
from kgbench.software import this_software
from kgbench.store.iris import id_from, new_id
from kgbench.store.protocol import Block, Store
from kgbench.tool_servers.servers import ToolServers
from kgbench.tools.budget import Cost

_SWITCH = 0.0005  # seconds
_REMEMBERED = 20_000  # catalogue entries and task executions
_switching = threading.Lock()
_intervals: list[float] = []  # the switch interval at the begin of each open session


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run on this machine; only ``endpoint`` can change a score.

    ``retry_errors``: repeat dialogues that failed in earlier sessions, unless it is false; if it
    is true, also those that ended because the conversation was too long, which are invalidated.
    ``redo_invalidated``: repeat dialogues that have been invalidated. ``reuse_answers``: take
    answers to identical requests from other runs in the store. ``abandon_batches``: cancel open
    batches of earlier sessions. ``endpoint`` executes the queries about cases whose graph only an
    endpoint has. ``limit``: begin at most so many dialogues with each model. ``preflight``, if
    given, enables a first call to each model, and is called with a line about each. ``executor``
    runs the judges; it is shut down with the session, even if the caller passed an instance.
    ``start_tool_servers``: start the commands that models name as MCP servers. ``tell`` is called
    with readable lines about the tool protocols of the models and the reply log. ``fsync``: sync
    each reply to disk, not only to the operating system's cache.
    """

    run: RunInfo | None = None
    engine: str = "oxigraph"
    executor: str | Executor = "local"
    preflight: Callable[[str], None] | None = None
    start_tool_servers: bool = False
    fsync: bool = False
    patience_scale: float = 1.0
    retry_errors: bool | None = None
    redo_invalidated: bool = False
    reuse_answers: bool = False
    abandon_batches: bool = False
    endpoint: str | None = None
    limit: int | None = None
    tell: Callable[[str], None] = lambda _: None
    journal: Journal = field(default_factory=Journal)


@dataclass(slots=True)
class Session:
    """The objects that the dialogues of a session share."""

    store: Store
    recorder: Recorder
    conversations: Conversations
    writer: Writer
    replies: Replies


@asynccontextmanager
async def session(
    store: Store,
    plan: Plan,
    settings: Settings,
    *,
    dialogues: int,
    prices: Sequence[SessionPrice],
    later_metrics: Mapping[str, str],
    judged: Sequence[str] = (),
    servers: ToolServers,
    failed: OnFailure,
    costs: Mapping[str, Cost] | None = None,
) -> AsyncIterator[Session]:
    """Begin a session on a run of ``dialogues`` dialogues in total, and end it in order.

    See :class:`~kgbench.engine.published.PlanExercises` for ``later_metrics`` and ``judged``, and
    :class:`~kgbench.engine.conversation.Conversations` for ``costs``. ``servers`` offer tools to
    models. ``failed`` is called in the event loop with the error of a failed write.
    """
    run_id = new_id() if settings.run is None else settings.run.id
    recorder = Recorder(store.iris, run_id, id_from(f"live/{run_id}"))
    with (
        _short_switch_interval(),
        _frozen_memory(),
        open_replies(
            store, run_id, sync=settings.fsync, failed=failed, tell=settings.tell
        ) as replies,
    ):
        async with _judging(store, recorder, plan, settings) as desk:
            blocks = _opening(store, recorder, plan, settings)
            if later_metrics:
                blocks.append(recorder.pass_metrics(later_metrics))
            if judged:
                blocks.append(recorder.pass_facts(judged=judged))
            run = settings.run
            number = 0 if run is None else reading.session_count(store, run.iri, run.graph)
            lines = _start(store, recorder, plan, number=number, dialogues=dialogues)
            lines += [line for paid in prices for line in recorder.session_price(number, paid)]
            blocks.append(Block(recorder.run_graph, lines))
            store.write(blocks)
            loop = asyncio.get_running_loop()
            writer = Writer(store, loop, failed)
            models = [model.iri for model in plan.models] if settings.reuse_answers else []
            conversations = Conversations(
                recorder,
                writer,
                desk,
                entries=_Entries(recorder).first_used,
                earlier=ReusableAnswers(store, models, recorder.run_graph),
                replies=replies,
                servers=servers,
                costs=costs,
            )
            try:
                yield Session(store, recorder, conversations, writer, replies)
            finally:
                await desk.close()
                end = recorder.session_end(number, clock.now())
                writer.post([Block(recorder.run_graph, [end])])
                await writer.close()
                store.publish_soon()


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Shorten the interpreter's thread switch interval during a session.

    The threads that write and judge return from work outside the interpreter many times a second.
    With the default interval of 5 ms each return waits that long for the event loop, which costs a
    tenth of the run time when answers come immediately.
    """
    with _switching:
        _intervals.append(sys.getswitchinterval())
        sys.setswitchinterval(min(_intervals[0], _SWITCH))
    try:
        yield
    finally:
        with _switching:
            usual = _intervals[0]
            _intervals.pop()
            if not _intervals:  # sessions may end in another order than they began
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


@asynccontextmanager
async def _judging(
    store: Store, recorder: Recorder, plan: Plan, settings: Settings
) -> AsyncIterator[JudgeQueue]:
    """Start the judges, and shut them down at the end of the session."""
    limits = JudgeLimits(seconds=plan.judge_timeout, engine=settings.engine)
    pool_setting = settings.executor
    pool = executor(pool_setting) if isinstance(pool_setting, str) else pool_setting
    start_children(pool, limits, plan.classes)
    try:
        yield JudgeQueue(pool, limits, workers(pool), _asking(store, recorder, plan, settings))
    finally:
        await asyncio.get_running_loop().run_in_executor(None, pool.shutdown)


def _start(
    store: Store, recorder: Recorder, plan: Plan, *, number: int, dialogues: int
) -> list[str]:
    agent = this_software().iri(store.iris)
    return recorder.session_start(number, clock.now(), agent, plan, dialogues)


def _opening(store: Store, recorder: Recorder, plan: Plan, settings: Settings) -> list[Block]:
    """Return blocks that describe the software and, for a new run, the run and its live pass."""
    software = this_software()
    blocks = [Block(store.iris.catalogue, software.entry(store.iris))]
    if settings.run is None:
        now = clock.now()
        suite = store.iris.mint("suite", suite=plan.suite)
        blocks += recorder.run_blocks(label=plan.name, suite=suite, started=now)
        blocks += recorder.pass_blocks(
            kind="live",
            started=now,
            agent=software.iri(store.iris),
            engine=engine_label(settings.engine),
        )
    if settings.endpoint is not None:
        blocks.append(recorder.pass_facts(endpoints=[settings.endpoint]))
    return blocks


def _asking(
    store: Store, recorder: Recorder, plan: Plan, settings: Settings
) -> EndpointResults | None:
    """Return the endpoint, if any, with its recorded results for the answers of the run."""
    if settings.endpoint is None:
        return None
    noted: dict[str, Results] = {}
    if settings.run is not None:
        for execution in reading.executions(store, recorder.run_graph):
            noted |= recorded(store, [recorder.pass_graph], execution)
    return EndpointResults(Endpoint(settings.endpoint, plan.judge_timeout).select, noted)


class _Entries:
    """Catalogue entries and task executions, written with the first dialogue that needs them.

    Only the latest are remembered, since a long run can have a case for each dialogue. An entry
    that was forgotten is written again, which changes nothing.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._written: dict[str, None] = {}  # the latest used last

    def first_used(self, planned: PlannedDialogue, dialogue: Dialogue) -> list[Block]:
        recorder, iris = self._recorder, self._recorder.iris
        task, case, model = planned.exercise.task, planned.exercise.case, planned.model
        execution = dialogue.iri.rpartition("/")[0]
        catalogue: list[str] = []
        blocks = []
        if self._new(model.iri):
            catalogue += model_entry(model)
        if self._new(task.iri) and not planned.exercise.recorded:
            catalogue += task_entry(iris, task)
        if self._new(case.iri) and not planned.exercise.recorded:
            catalogue += case_entry(iris, case, task.version)
        if self._new(execution):
            lines = recorder.execution_triples(execution, model.iri, task.iri)
            blocks.append(Block(recorder.run_graph, lines))
        return [Block(iris.catalogue, catalogue), *blocks] if catalogue else blocks

    def _new(self, iri: str) -> bool:
        is_new = iri not in self._written
        self._written.pop(iri, None)
        self._written[iri] = None
        if len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]
        return is_new
