# SPDX-License-Identifier: Apache-2.0
"""The work that ``make bench-check`` watches, small enough to be done many times in a minute.

Everything that is timed happens in this process, so that its processor time can be told; answers of
the run that is recorded are judged in a child, whose time does not count.
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
from kgbench.analysis.selection import select
from kgbench.analysis.task_scores import task_scores
from kgbench.connectors.baseline import damaged
from kgbench.engine import Settings, planning, run_plan
from kgbench.execution.engines import engine
from kgbench.exports import llm_kg_bench, outgoing_run
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.model import Case, Plan
from kgbench.pages.contents import statements
from kgbench.pages.conversation import conversation
from kgbench.pages.snapshot import View, open_newest
from kgbench.publish.redaction import RedactionLevel
from kgbench.record import reading
from kgbench.store import open_reader, open_store
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue

Work = Callable[[], object]

LABELS = ("RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle")
JUDGED = (*LABELS, "Text2SparqlExecEvalListOrganizational", "TurtleErrorsStatic")
MODELS = ("baseline:oracle", "baseline:noisy?rate=0.5&seed=1")
_DIALOGUES = 25  # of each model and label, recorded and read
_PLANNED = 300
_PAGES = 10
_TIMES = 10  # that every answer is judged


class _Kept(ThreadPoolExecutor):
    """Judges that outlive a run, so that no repetition starts a child of its own."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: :meth:`end` ends them."""

    def end(self) -> None:
        """End the threads, and with them their children."""
        super().shutdown()


@contextmanager
def hot_paths(scratch: Path) -> Iterator[Mapping[str, Work]]:
    """The work of each path by the name that ``expected.ttl`` has for it.

    A store to read is made in the folder ``scratch``. Each piece of work can be done any number of
    times, and does the same each time.
    """
    judges = _Kept(1)
    try:
        location = scratch / "store"
        with open_store(str(location)) as store:
            asyncio.run(run_plan(store, _plan(_DIALOGUES), Settings(executor=judges)))
        with open_reader(str(location)) as reader:
            view = open_newest(location / "snapshots", reader.iris.base)
            found = _Paths(judges, reader, view, str(location))
            yield {
                "judging": found.judge,
                "planning": found.plan,
                "recording": found.record,
                "importing": found.load,
                "analysing": found.analyse,
                "pages": found.show,
            }
    finally:
        judges.end()


class _Paths:
    """The work on the results in ``store`` at ``location``; ``view`` is a snapshot of it."""

    def __init__(self, judges: Executor, store: Store, view: View, location: str) -> None:
        self._judges = judges
        self._location = location
        self._view = view
        (run,) = reading.runs(store)
        states = reading.all_states(store, run.graph)
        self._dialogues = [one.iri for found in states.values() for one in found][:_PAGES]
        whole = outgoing_run.read(store, outgoing_run.ExportRequest(level=RedactionLevel.NONE))
        records, _ = llm_kg_bench.records(whole)
        self._results = ResultFile("results.json", json.dumps(records).encode("utf-8"))
        self._answers = list(_answers()) * _TIMES

    def judge(self) -> None:
        executor = engine("oxigraph")
        for case, said in self._answers:
            catalogue.module(case.task_class).judge(case, [said], executor)

    def plan(self) -> None:
        plan = _plan(_PLANNED)
        asked = planning.exercises(plan)
        for model in plan.models:
            assert sum(1 for _ in planning.planned_dialogues(plan, asked, model)) == _PLANNED * len(
                LABELS
            )

    def record(self) -> None:
        with open_store("memory:") as store:
            asyncio.run(run_plan(store, _plan(_DIALOGUES), Settings(executor=self._judges)))

    def load(self) -> None:
        with open_store("memory:") as store:
            for imported in read_runs(self._results, store.iris):
                assert load(store, imported).dialogues

    def analyse(self) -> None:
        with open_reader(
            self._location
        ) as store:  # another one each time: it keeps what it has read
            chosen = select(store)
            assert leaderboard(store, chosen).rows
            assert task_scores(store, chosen).rows

    def show(self) -> None:
        for iri in self._dialogues:
            conversation(self._view, iri, reveal=True)
            statements(self._view, iri, reveal=True)


def _plan(iterations: int) -> Plan:
    return config.quick_start(tasks=list(LABELS), models=list(MODELS), iterations=iterations)


def _answers() -> Iterator[tuple[Case, str]]:
    """Cases with their reference answers, and with these damaged."""
    labelled = catalogue.labelled_tasks()
    for task in (labelled[label] for label in JUDGED):
        module = catalogue.module(task.task_class)
        for case in module.cases(task, "bench", 1, 10):
            best = module.reference(case)
            yield case, best
            yield case, damaged(best, Random(case.iri))  # noqa: S311 - no secret
