# SPDX-License-Identifier: Apache-2.0
"""Atomic loading of an imported run into a store.

The content of a run is loaded in bulk, outside a transaction. One atomic write then makes it
visible: its registry entry, with catalogue entries for tasks, cases and models. An interrupted
import leaves nothing visible, and the next one drops what it left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from kgbench.errors import ImportRefused
from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun
from kgbench.importers.undeclared import descriptions
from kgbench.model import Dialogue, Evaluation, Json
from kgbench.rdf import boolean, string
from kgbench.record import Recorder, case_entry, model_entry, task_entry
from kgbench.record.aggregates import Aggregates
from kgbench.record.count_graphs import graph_of
from kgbench.record.run_counts import RunCounts
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill
from kgbench.vocab import DCTERMS, KGB, RDF, RDFS, SKOS


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome of an import: counts of one run, and whether the store already had it."""

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

    def as_json(self) -> dict[str, Json]:
        """Return the summary as JSON-shaped data."""
        return asdict(self)


def load(
    store: Store, imported: ImportedRun, progress: Callable[[int], None] | None = None
) -> Summary:
    """Write a run with its published evaluation pass, unless the store already has it.

    ``progress`` is called with 1 for each dialogue written. Raises
    :class:`~kgbench.errors.ImportRefused` if the store has the run in another suite.
    """
    recorder = Recorder(store.iris, imported.run_id, imported.pass_id)
    suite = store.iris.mint("suite", suite=imported.suite)
    present = {
        recorder.run_graph: _registered(store, recorder.run_graph, recorder.run),
        recorder.pass_graph: not imported.is_judged or is_registered(store, recorder),
    }
    counts = _Counts()
    missing = [graph for graph, registered in present.items() if not registered]
    if recorder.run_graph not in missing and not _holds(
        store, recorder.run_graph, f"<{recorder.run}> <{KGB.suite}> <{suite}> ."
    ):
        raise ImportRefused(
            f"{imported.source}: the store {store.location} has these results in another suite "
            f"than {imported.suite}: import them into a separate store"
        )
    if missing:
        store.drop([*missing, *(graph_of(store.iris, graph) for graph in missing)])
        aggregates = Aggregates(store, recorder.pass_graph, recorder)
        blocks = _content(imported, recorder, aggregates, counts, progress)
        store.bulk_load(block for block in blocks if not present.get(block.graph, False))
        store.write(
            [
                Block(store.iris.catalogue, _catalogue(store, imported)),
                *_run_and_pass_blocks(imported, recorder),
            ]
        )
        if imported.is_judged:
            aggregates.seal()
        if recorder.run_graph in missing:
            RunCounts(store, recorder.run_graph).rebuild()
    else:
        for dialogue, evaluations in imported.items:
            counts.add(dialogue, evaluations)
    return _summary(imported, recorder, counts, already_there=not missing)


@dataclass(slots=True)
class _Counts:
    """Counts of imported dialogues, answers and scores."""

    dialogues: int = 0
    answers: int = 0
    scores: int = 0

    def add(self, dialogue: Dialogue, evaluations: Iterable[Evaluation]) -> None:
        self.dialogues += 1
        self.answers += len(dialogue.turns)
        self.scores += sum(len(evaluation.scores) for evaluation in evaluations)


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
        suite=recorder.iris.mint("suite", suite=imported.suite),
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


def _content(
    imported: ImportedRun,
    recorder: Recorder,
    aggregates: Aggregates,
    counts: _Counts,
    progress: Callable[[int], None] | None,
) -> Iterator[Block]:
    """Yield the blocks of each dialogue and of its evaluations."""
    executions: set[str] = set()
    for dialogue, evaluations in imported.items:
        counts.add(dialogue, evaluations)
        lines = _dialogue(dialogue, recorder)
        execution = dialogue.iri.rpartition("/")[0]
        if execution not in executions:
            executions.add(execution)
            lines += recorder.execution_triples(execution, dialogue.model, dialogue.task)
        yield Block(recorder.run_graph, lines)
        if evaluations:
            yield from aggregates.evaluated(evaluations, dialogue)
        if progress is not None:
            progress(1)
    yield from aggregates.gathered()


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

    def is_known(iri: str) -> bool:
        return _holds(store, iris.catalogue, f"<{iri}> a ?kind .")

    return lines + descriptions(imported, iris, is_known)


def _model(store: Store, model: ImportedModel) -> list[str]:
    node = f"<{model.setup.iri}>"
    is_known = _holds(store, store.iris.catalogue, f"{node} a <{KGB.Model}> .")
    lines = [] if is_known else model_entry(model.setup)
    return lines + [f"{node} <{KGB.sourceModelId}> {string(name)} ." for name in model.source_ids]


def _suite(store: Store, name: str) -> list[str]:
    """Describe a suite that the catalogue does not have."""
    node = f"<{store.iris.mint('suite', suite=name)}>"
    if _holds(store, store.iris.catalogue, f"{node} a <{KGB.Suite}> ."):
        return []
    return [
        f"{node} <{RDF.type}> <{KGB.Suite}> .",
        f"{node} <{SKOS.notation}> {string(name)} .",
        f"{node} <{RDFS.label}> {string(name)} .",
        f"{node} <{DCTERMS.description}> {string('The cases of imported result files.')} .",
        f"{node} <{KGB.protected}> {boolean(value=True)} .",
    ]


def _summary(
    imported: ImportedRun, recorder: Recorder, counts: _Counts, *, already_there: bool
) -> Summary:
    return Summary(
        source=imported.source,
        run=recorder.run,
        suite=imported.suite,
        generation=imported.generation,
        dialogues=counts.dialogues,
        answers=counts.answers,
        labels=len({task.label for task in imported.tasks.values()}),
        cases=len(imported.cases),
        models=tuple(model.setup.model_id for model in imported.models.values()),
        scores=counts.scores,
        already_there=already_there,
    )
