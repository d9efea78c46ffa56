# SPDX-License-Identifier: Apache-2.0
"""The hot paths that ``make bench-check`` measures, short enough for many repetitions a minute.

All timed work happens in this process, whose processor time is measured. Answers of the recorded
run are judged in a child process, whose time does not count.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

from kgbench import config
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.task_scores import task_scores
from kgbench.connectors.baseline import damaged
from kgbench.engine import Settings, planning, run_plan
from kgbench.execution.engines import engine
from kgbench.exports import outgoing_run
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.model import Case, Plan
from kgbench.pages.contents import statements
from kgbench.pages.conversation import conversation
from kgbench.pages.things import View, open_newest
from kgbench.plugins.exchange import llm_kg_bench
from kgbench.publish.redaction import RedactionLevel
from kgbench.record import reading
from kgbench.scores.selection import select
from kgbench.store import open_reader, open_store
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue

Work = Callable[[], object]

LABELS = ("RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle")
JUDGED = (*LABELS, "Text2SparqlExecEvalListOrganizational", "TurtleErrorsStatic")
MODELS = ("baseline:oracle", "baseline:noisy?rate=0.5&seed=1")
_DIALOGUES = 25  # per model and label, recorded and read
_PLANNED = 300
_PAGES = 10
_TIMES = 10  # judgements of each answer


class _LastingPool(ThreadPoolExecutor):
    """A thread pool that outlives a run, so that repetitions share the judging children."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing; :meth:`end` ends the threads."""

    def end(self) -> None:
        """End the threads and their children."""
        super().shutdown()


@contextmanager
def hot_paths(scratch: Path) -> Iterator[Mapping[str, Work]]:
    """Yield the function of each path, by its name in ``expected.ttl``.

    A store to read is created in the folder ``scratch``. Each function can be called any number of
    times and does the same work each time.
    """
    judges = _LastingPool(1)
    try:
        location = scratch / "store"
        with open_store(str(location)) as store:
            asyncio.run(run_plan(store, _plan(_DIALOGUES), Settings(executor=judges)))
        with open_reader(str(location)) as reader:
            view = open_newest(location / "snapshots", reader.iris.base)
            paths = _Paths(judges, reader, view, str(location))
            yield {
                "judging": paths.judge,
                "planning": paths.plan,
                "recording": paths.record,
                "importing": paths.load,
                "analysing": paths.analyse,
                "pages": paths.show,
            }
    finally:
        judges.end()


class _Paths:
    """The paths over the results in ``store`` at ``location``; ``view`` is a snapshot of it."""

    def __init__(self, judges: Executor, store: Store, view: View, location: str) -> None:
        self._judges = judges
        self._location = location
        self._view = view
        (run,) = reading.runs(store)
        states = reading.all_states(store, run.graph)
        self._dialogues = [dialogue.iri for group in states.values() for dialogue in group][:_PAGES]
        exported = outgoing_run.read(store, outgoing_run.ExportRequest(level=RedactionLevel.NONE))
        records, _ = llm_kg_bench.records(exported)
        self._results = ResultFile("results.json", json.dumps(records).encode("utf-8"))
        self._answers = list(_answers()) * _TIMES

    def judge(self) -> None:
        executor = engine("oxigraph")
        for case, answer in self._answers:
            catalogue.module(case.task_class).judge(case, [answer], executor)

    def plan(self) -> None:
        plan = _plan(_PLANNED)
        exercises = planning.exercises(plan)
        for model in plan.models:
            dialogues = planning.planned_dialogues(plan, exercises, model)
            assert sum(1 for _ in dialogues) == _PLANNED * len(LABELS)

    def record(self) -> None:
        with open_store("memory:") as store:
            asyncio.run(run_plan(store, _plan(_DIALOGUES), Settings(executor=self._judges)))

    def load(self) -> None:
        with open_store("memory:") as store:
            for imported in read_runs(self._results, store.iris):
                assert load(store, imported).dialogues

    def analyse(self) -> None:
        with open_reader(self._location) as store:  # a new one each time: readers cache
            selection = select(store)
            assert leaderboard(store, selection).rows
            assert task_scores(store, selection).rows

    def show(self) -> None:
        for iri in self._dialogues:
            conversation(self._view, iri, reveal=True)
            statements(self._view, iri, reveal=True)


def _plan(iterations: int) -> Plan:
    return config.quick_start(tasks=list(LABELS), models=list(MODELS), iterations=iterations)


def _answers() -> Iterator[tuple[Case, str]]:
    """Return cases with their reference answers, intact and damaged."""
    labelled = catalogue.labelled_tasks()
    for task in (labelled[label] for label in JUDGED):
        module = catalogue.module(task.task_class)
        for case in module.cases(task, "bench", 1, 10):
            reference = module.reference(case)
            yield case, reference
            yield case, damaged(reference, Random(case.iri))  # noqa: S311 - no secret
