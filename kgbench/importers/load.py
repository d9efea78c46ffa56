# SPDX-License-Identifier: Apache-2.0
"""Atomic loading of imported runs into a store.

The content of a run is loaded in bulk, outside a transaction. One atomic write then makes it
visible: its registry entry, with catalogue entries for tasks, cases and models. An interrupted
import leaves nothing visible, and the next one drops what it left. Dialogues without published
scores are judged in a pass of their own.
"""

from __future__ import annotations

import concurrent.futures
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from kgbench import clock
from kgbench.errors import ImportRefused
from kgbench.execution.engines import engine_label
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import judge_dialogues
from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun
from kgbench.importers.metrics import descriptions
from kgbench.model import Dialogue, Evaluation, Json
from kgbench.rdf import boolean, string
from kgbench.record.evaluations import evaluations
from kgbench.record.recorder import Recorder, case_entry, model_entry, task_entry
from kgbench.scoring.agreement import agreement_of_error
from kgbench.software import this_software
from kgbench.store.iris import Iris, id_from
from kgbench.store.loading_together import LoadingTogether
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill
from kgbench.tasks import catalogue
from kgbench.vocab import DCTERMS, KGB, RDF, RDFS, SKOS


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome of an import: counts of one run, and whether the store already had it.

    ``missing_scores`` names each published score that is not recorded, with its dialogue and the
    reason: it is not finite, or outside the range that its metric declares.
    """

    source: str
    run: str
    suite: str
    generation: int
    dialogues: int
    answers: int
    labels: int
    cases: int
    models: tuple[str, ...]
    scores: int
    already_there: bool
    missing_scores: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """Return the summary as JSON-shaped data."""
        return asdict(self)


def load(
    store: Store, imported: ImportedRun, progress: Callable[[int], None] | None = None
) -> Summary:
    """Load one run; see :func:`load_each`."""
    (summary,) = load_each(store, [imported], progress)
    return summary


def load_each(
    store: Store, runs: Iterable[ImportedRun], progress: Callable[[int], None] | None = None
) -> Iterator[Summary]:
    """Write runs with their published evaluation passes, unless the store already has them.

    Short runs become visible together; see :mod:`~kgbench.store.loading_together`. ``progress`` is
    called with 1 for each dialogue written. Raises :class:`~kgbench.errors.ImportRefused` if the
    store has a run in another suite; earlier runs are kept.
    """
    parts = (_RunPart(store, imported, progress) for imported in runs)
    for part in LoadingTogether(store, parts).visible():
        yield part.summary()


class _RunPart:
    """A run with its published pass; a part to load."""

    def __init__(
        self, store: Store, imported: ImportedRun, progress: Callable[[int], None] | None
    ) -> None:
        self._store = store
        self._imported = imported
        self._progress = progress
        self._recorder = Recorder(store.iris, imported.run_id, imported.pass_id)
        self._counts: Counter[str] = Counter()
        self.graphs: list[str] = []

    @property
    def run(self) -> str:
        return self._recorder.run

    def blocks(self) -> Iterator[Block]:
        """Yield the content that the store does not have.

        Raises :class:`~kgbench.errors.ImportRefused` if it has the run in another suite.
        """
        store, imported, recorder = self._store, self._imported, self._recorder
        present = {
            recorder.run_graph: _registered(store, recorder.run_graph, recorder.run),
            recorder.pass_graph: not imported.is_judged or is_registered(store, recorder),
        }
        suite = f"<{recorder.run}> <{KGB.suite}> <{_suite_iri(store.iris, imported.suite)}> ."
        if present[recorder.run_graph] and not _holds(store, recorder.run_graph, suite):
            raise ImportRefused(
                f"{imported.source}: the store {store.location} has these results in another suite "
                f"than {imported.suite}: import them into a separate store"
            )
        self.graphs = [graph for graph, registered in present.items() if not registered]
        if self.graphs:
            store.drop(self.graphs)  # what an interrupted import left
        for block in self._content():
            if not present.get(block.graph, False):
                yield block

    def _content(self) -> Iterator[Block]:
        """Yield the blocks of each dialogue and of its evaluations, and count them."""
        recorder = self._recorder
        executions: set[str] = set()
        for dialogue, published in self._imported.items:
            scores = sum(len(evaluation.scores) for evaluation in published)
            self._counts.update(dialogues=1, answers=len(dialogue.turns), scores=scores)
            if not self.graphs:
                continue
            lines = _dialogue(dialogue, recorder)
            execution = dialogue.iri.rpartition("/")[0]
            if execution not in executions:
                executions.add(execution)
                lines += recorder.execution_triples(execution, dialogue.model, dialogue.task)
            yield Block(recorder.run_graph, lines)
            for evaluation in published:
                agreed = _with_agreement(evaluation, self._imported.agreements)
                yield recorder.evaluation_block(agreed, dialogue)
            if self._progress is not None:
                self._progress(1)

    def closing(self) -> list[Block]:
        """Return the entries of the catalogue, and the descriptions of the run and its pass."""
        if not self.graphs:
            return []
        entries = Block(self._store.iris.catalogue, _catalogue(self._store, self._imported))
        return [entries, *_run_and_pass_blocks(self._imported, self._recorder)]

    def summary(self) -> Summary:
        imported = self._imported
        return Summary(
            source=imported.source,
            run=self.run,
            suite=imported.suite,
            generation=imported.generation,
            dialogues=self._counts["dialogues"],
            answers=self._counts["answers"],
            labels=len({task.label for task in imported.tasks.values()}),
            cases=len(imported.cases),
            models=tuple(model.setup.model_id for model in imported.models.values()),
            scores=self._counts["scores"],
            already_there=not self.graphs,
            missing_scores=tuple(imported.missing_scores),
        )


def repeated(store: Store, run: str) -> dict[str, int]:
    """Return the other runs (IRIs) with dialogues of a run, and how many of them each has.

    Dialogues are the same if they have the same digest: those of a result file that was rewritten,
    or of one to which more were appended.
    """
    rows = store.query(fill("repeated-dialogues.rq", run=run, catalogue=store.iris.catalogue))
    return {row["other"].value: int(row["count"].value) for row in rows}


def is_registered(store: Store, recorder: Recorder) -> bool:
    """Return whether the evaluation pass of ``recorder`` is visible in ``store``."""
    return _registered(store, recorder.pass_graph, recorder.evaluation_pass)


def _holds(store: Store, graph: str, pattern: str) -> bool:
    return bool(store.query(fill("has.rq", catalogue=graph, pattern=pattern)))


def _registered(store: Store, graph: str, describes: str) -> bool:
    return _holds(store, store.iris.catalogue, f"<{graph}> <{KGB.describes}> <{describes}> .")


def _run_and_pass_blocks(imported: ImportedRun, recorder: Recorder) -> list[Block]:
    """Return the descriptions of the run and its pass, with their registry entries."""
    agent = imported.software.iri(recorder.iris)
    blocks = recorder.run_blocks(
        label=PurePosixPath(imported.source).stem,
        suite=_suite_iri(recorder.iris, imported.suite),
        started=imported.started,
        ended=imported.ended,
        agent=agent,
        source={"name": imported.source, "digest": imported.digest},
    )
    if imported.is_judged:
        blocks += recorder.pass_blocks(
            kind="published", started=imported.started, ended=imported.ended, agent=agent
        )
    return blocks


def _with_agreement(evaluation: Evaluation, agreements: Mapping[str, str]) -> Evaluation:
    """Add to each score that is an error the agreement that it stands for."""
    added = {
        agreements[metric]: agreement_of_error(value)
        for metric, value in evaluation.scores.items()
        if metric in agreements
    }
    return replace(evaluation, scores=added | dict(evaluation.scores)) if added else evaluation


def _dialogue(dialogue: Dialogue, recorder: Recorder) -> list[str]:
    assert dialogue.started is not None
    lines = recorder.dialogue_start(dialogue, dialogue.started)
    for k in range(len(dialogue.turns)):
        lines += recorder.turn(dialogue, k)
    if dialogue.ended is not None:  # a dialogue without an answer has no end
        lines.append(recorder.dialogue_end(dialogue, dialogue.ended))
    return lines


def _catalogue(store: Store, imported: ImportedRun) -> list[str]:
    """Return catalogue entries for what the run refers to, except known models and suites."""
    iris = store.iris
    lines = imported.software.entry(iris) + _suite(store, imported.suite)
    for task in imported.tasks.values():
        lines += task_entry(iris, task)
    for case in imported.cases.values():
        lines += case_entry(iris, case, imported.versions[case.iri])
    for model in imported.models.values():
        lines += _model(store, model)

    tasks, undeclared = imported.tasks.values(), imported.undeclared_metrics.values()
    holds = partial(_holds, store, iris.catalogue)
    return lines + descriptions(tasks, undeclared, iris, holds)


def _model(store: Store, model: ImportedModel) -> list[str]:
    node = f"<{model.setup.iri}>"
    is_known = _holds(store, store.iris.catalogue, f"{node} a <{KGB.Model}> .")
    lines = [] if is_known else model_entry(model.setup)
    return lines + [f"{node} <{KGB.sourceModelId}> {string(name)} ." for name in model.source_ids]


def _suite(store: Store, name: str) -> list[str]:
    """Describe a suite that the catalogue does not have."""
    node = f"<{_suite_iri(store.iris, name)}>"
    if _holds(store, store.iris.catalogue, f"{node} a <{KGB.Suite}> ."):
        return []
    return [
        f"{node} <{RDF.type}> <{KGB.Suite}> .",
        f"{node} <{SKOS.notation}> {string(name)} .",
        f"{node} <{RDFS.label}> {string(name)} .",
        f"{node} <{DCTERMS.description}> {string('The cases of imported result files.')} .",
        f"{node} <{KGB.protected}> {boolean(value=True)} .",
    ]


def _suite_iri(iris: Iris, name: str) -> str:
    return iris.mint("suite", suite=name)


def judge_unjudged(
    store: Store, run: ImportedRun, executor: concurrent.futures.Executor, limits: JudgeLimits
) -> int:
    """Judge the dialogues of an imported run that have no published scores, in a separate pass.

    The run must be in the store. Returns the number of new scores, or 0 if the store already has
    the pass. An interrupted pass leaves nothing visible.
    """
    recorder = Recorder(store.iris, run.run_id, id_from(f"{run.run_id}/import"))
    if not run.unjudged or is_registered(store, recorder):
        return 0
    classes = {task.iri: catalogue.task_class(task.task_class) for task in run.tasks.values()}
    started, scores = clock.now(), 0

    def blocks() -> Iterator[Block]:
        nonlocal scores
        for dialogue, verdicts in judge_dialogues(run.unjudged, executor, limits):
            judged_evaluations = evaluations(
                classes[dialogue.task], dialogue, verdicts, recorder.evaluation_iri
            )
            scores += sum(len(evaluation.scores) for evaluation in judged_evaluations)
            yield from (recorder.evaluation_block(each, dialogue) for each in judged_evaluations)

    store.drop([recorder.pass_graph])
    store.bulk_load(blocks())
    software = this_software()
    pass_blocks = recorder.pass_blocks(
        kind="import",
        started=started,
        ended=clock.now(),
        agent=software.iri(store.iris),
        engine=engine_label(limits.engine),
    )
    store.write([Block(store.iris.catalogue, software.entry(store.iris)), *pass_blocks])
    return scores
