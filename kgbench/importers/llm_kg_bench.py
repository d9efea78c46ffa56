# SPDX-License-Identifier: Apache-2.0
"""Conversion of LLM-KG-Bench results to runs of kgbench, as plain values.

Every record is validated before the first is converted. A file is read record by record: once to
validate it, and once for the conversion of each of its runs. Its fields are converted as follows:

* ``taskInfo`` and ``taskData``: a task and a case (:mod:`kgbench.importers.published`);
  ``gitCommit``: the agent of run and evaluation pass.
* ``startTime``, ``duration``: begin and end of the dialogue. ``interactions``: its turns; a call
  lasts from the time of its prompt to the time of its response. Times are local and without zone,
  and are stored so.
* ``modelId``: the model; the published spelling is stored with its id.
* ``scores``: the evaluation of the answer if they are flat; if nested, an evaluation per answer and
  one of the dialogue (``mean``, ``max``, ``meanExt``, ``last``). Integers become doubles. Empty
  ones are nested, unless the task class is declared with one answer.
  A score that is not finite (``NaN``) or outside the range of its metric is recorded as missing:
  under ``missingScores`` among the ``published`` values below, with the reason. The agreement
  that is declared for an error (``kgb:agreementOf``) is recorded beside it.
* ``info``: the infos of the same evaluations. ``last`` is dropped if it repeats the last round.
* ``taskSizeInfo.targetSize``: the size of the task, if its parameters have none.
* all other values (all of ``taskSizeInfo``, ``reevalOriginalTime``, ``condensedTaskData`` where it
  differs from ``taskData``, unknown fields): under the key ``published`` in the infos of the
  dialogue's last evaluation. Null values are dropped.

Only the order of keys is lost. Records of different commits or generations in one file (some files
were merged by hand) become separate runs, so that scores are attributed correctly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeAlias

from kgbench.errors import ImportRefused, TaskError
from kgbench.importers import published
from kgbench.importers.archives import ResultFile
from kgbench.importers.metrics import MetricNames, UndeclaredMetric, is_declared
from kgbench.importers.published import evaluations, feedback_after, within_ranges
from kgbench.importers.records import Exchange, Record, names_zone, read_record
from kgbench.model import (
    Call,
    Case,
    Dialogue,
    Evaluation,
    ModelSetup,
    Outcome,
    Reply,
    Task,
    Turn,
)
from kgbench.on_demand import Repeatable
from kgbench.rdf import canonical_json, digest
from kgbench.record.recorder import Recorder
from kgbench.software import Software
from kgbench.store.iris import Iris, id_from, slug
from kgbench.tasks import catalogue

_COMMIT = re.compile("[0-9a-f]{7,64}")
Item: TypeAlias = tuple[Dialogue, tuple[Evaluation, ...]]
"""A dialogue with its evaluations."""

_CONTEXT_TOO_LONG = "ERROR: The prompt size exceeds"  # start of such an answer in generation 1


@dataclass(slots=True)
class ImportedModel:
    """A model and its published spellings, of which generation 1 has several."""

    setup: ModelSetup
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run of another framework, with the resources that its records refer to.

    ``suite`` is the short name of a suite. ``versions`` maps each case to the version of its task
    class. ``items`` are the dialogues in record order, each with its evaluations: those of answers
    first, that of the dialogue, if any, last. Each iteration may read them from a file again;
    ``tasks``, ``cases``, ``versions``, ``models``, ``undeclared_metrics``, ``missing_scores`` and
    ``agreements`` are complete only after an iteration over all items. ``missing_scores`` names the
    published scores that are not recorded, with dialogue and reason. ``agreements`` maps metrics of
    errors to the metrics of agreement (IRIs) that are recorded beside them. ``source`` is the name
    of the file, ``digest`` its SHA-256. ``unjudged`` are dialogues without published scores that
    kgbench can judge. If no dialogue has published scores, ``is_judged`` is ``False`` and there is
    no published pass.
    """

    source: str
    digest: str
    generation: int
    suite: str
    run_id: str
    pass_id: str
    started: datetime
    ended: datetime
    software: Software
    tasks: Mapping[str, Task]
    cases: Mapping[str, Case]
    versions: Mapping[str, str]
    models: Mapping[str, ImportedModel]
    undeclared_metrics: Mapping[str, UndeclaredMetric]
    items: Collection[Item]
    unjudged: Collection[tuple[Dialogue, Case]] = ()
    is_judged: bool = True
    missing_scores: Collection[str] = ()
    agreements: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Part:
    """Statistics of the records of one commit and generation in a file."""

    zoned: bool
    started: datetime
    ended: datetime
    count: int = 0

    def add(self, record: Record) -> None:
        self.started = min(self.started, record.started)
        self.ended = max(self.ended, record.ended)
        self.count += 1


def read_runs(file: ResultFile, iris: Iris, suite: str | None = None) -> list[ImportedRun]:
    """Read the runs in a result file, one for each commit and generation.

    ``suite`` overrides the suite of the generation, ``llm-kg-bench-1`` to ``-3``. Raises
    :class:`~kgbench.errors.ImportRefused` for the first invalid record.
    """
    corrected: dict[str, str] = {}
    parts: dict[tuple[int, str], _Part] = {}
    for k, record in enumerate(_records(file)):
        published.note_corrected_graph(record, corrected)
        zoned = names_zone(record.started)
        key = (record.generation, record.commit)
        part = parts.setdefault(key, _Part(zoned, record.started, record.ended))
        if part.zoned != zoned:
            raise ImportRefused(
                f"{file.name}: record {k} (from 0): startTime cannot be compared with earlier "
                f"ones: either all records of a run must name a time zone, or none"
            )
        part.add(record)
    runs = []
    for (generation, commit), part in parts.items():
        identity = file.digest if len(parts) == 1 else f"{file.digest}/{generation}/{commit}"
        conversion = _Conversion(
            iris, suite or f"llm-kg-bench-{generation}", id_from(identity), corrected
        )
        runs.append(conversion.run(file, generation, commit, part))
    return runs


def _records(file: ResultFile) -> Iterator[Record]:
    return (read_record(raw, file.name, k) for k, raw in enumerate(file.records()))


@dataclass(slots=True)
class _Conversion:
    """Converts the records of one run, and creates each task, case and model once."""

    iris: Iris
    suite: str
    run_id: str
    corrected: Mapping[str, str]
    tasks: dict[str, Task] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    models: dict[str, ImportedModel] = field(default_factory=dict)
    iterations: dict[tuple[str, str], int] = field(default_factory=dict)
    labelled: dict[tuple[str, ...], Task] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    metrics: MetricNames = field(init=False)
    recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self.metrics = MetricNames(self.iris)
        self.recorder = Recorder(self.iris, self.run_id, self.pass_id)

    @property
    def pass_id(self) -> str:
        return id_from(f"{self.run_id}/published")

    def run(self, file: ResultFile, generation: int, commit: str, part: _Part) -> ImportedRun:
        return ImportedRun(
            source=file.name,
            digest=file.digest,
            generation=generation,
            suite=self.suite,
            run_id=self.run_id,
            pass_id=self.pass_id,
            started=part.started,
            ended=part.ended,
            software=_software(generation, commit),
            tasks=self.tasks,
            cases=self.cases,
            versions=self.versions,
            models=self.models,
            undeclared_metrics=self.metrics.undeclared,
            items=Repeatable(
                partial(self.items, file, (generation, commit), part.count), part.count
            ),
            missing_scores=self.missing,
            agreements=self.metrics.agreements,
        )

    def items(self, file: ResultFile, part: tuple[int, str], count: int) -> Iterator[Item]:
        """Convert the records of the run, from the first one again."""
        self.iterations.clear()
        self.missing.clear()
        left = count
        for record in _records(file):
            if (record.generation, record.commit) == part:
                left -= 1
                yield self.item(record)
        if left:
            raise ImportRefused(f"{file.name}: the file changed during the import")

    def item(self, record: Record) -> tuple[Dialogue, tuple[Evaluation, ...]]:
        model = self.model(record.model)
        task = self.task(record)
        case = self.case(record)
        key = (model.iri, task.iri)
        iteration = self.iterations[key] = self.iterations.get(key, -1) + 1
        dialogue_digest = digest(canonical_json(record.raw))
        # Tasks of several sizes share a published label, but are separate executions.
        size = task.parameters.get("size") if record.label is None else None
        name = task.label if size is None else f"{task.label.removesuffix(f'-{size}')}-{size}"
        execution = self.recorder.execution_iri(model.model_id, name)
        dialogue = Dialogue(
            iri=self.recorder.dialogue_iri(execution, iteration, dialogue_digest),
            run=self.recorder.run,
            model=model.iri,
            task=task.iri,
            suite=self.iris.mint("suite", suite=self.suite),
            case=case.iri,
            iteration=iteration,
            digest=dialogue_digest,
            turns=_turns(record),
            started=record.started,
            ended=record.ended,
        )
        record = within_ranges(record)
        self.missing += (f"{dialogue.iri}: {name} {why}" for name, why in record.missing.items())
        return dialogue, evaluations(record, dialogue, self.recorder, self.metrics)

    def model(self, source_id: str) -> ModelSetup:
        name = model_id(source_id)
        iri = self.iris.mint("model", model=slug(name))
        known = self.models.get(iri)
        if known is None:
            setup = ModelSetup(iri=iri, label=name, connector="", model_id=name, spec=source_id)
            known = self.models[iri] = ImportedModel(setup, ())
        if source_id not in known.source_ids:
            known.source_ids += (source_id,)
        return known.setup

    def task(self, record: Record) -> Task:
        label = published.label(record)
        settings = canonical_json([record.parameters, published.problem_size(record)])
        key = (record.task_class, record.version, label, settings)
        if key not in self.labelled:
            task = self.labelled[key] = _task(record, label, self.iris)
            self.tasks[task.iri] = task
        return self.labelled[key]

    def case(self, record: Record) -> Case:
        data = published.case_data(record, self.corrected)
        case = catalogue.make_case(
            self.suite,
            record.task_class,
            published.parameters(record),
            data,
            published.case_uid(data),
        )
        self.versions.setdefault(case.iri, record.version)
        return self.cases.setdefault(case.iri, case)


def _software(generation: int, commit: str) -> Software:
    """Return the framework with its commit; for exports of other software, with its own label."""
    if _COMMIT.fullmatch(commit):
        return Software("LLM-KG-Bench", str(generation), commit)
    return Software("LLM-KG-Bench", f"{generation} ({commit[:80]})")


def model_id(source_id: str) -> str:
    """Extract the id of a model from ``family--id`` or ``family--alias--id``.

    The prefix ``models/`` is removed. The framework's own test model (``TestModel``) has its fixed
    answer in the place of the id, so its alias is used.

    >>> model_id("Google--models/gemini-1.5-flash-002")
    'gemini-1.5-flash-002'
    """
    family, *names = [part.strip() for part in source_id.split("--")]
    names = [name for name in names if name]
    if not names:
        return family or source_id
    return (names[0] if family == "TestModel" else names[-1]).removeprefix("models/")


def _task(record: Record, label: str, iris: Iris) -> Task:
    """Return the task of a record: the declared one, if this version of its class is declared."""
    task_class, version = record.task_class, record.version
    parameters = published.parameters(record)
    if is_declared(task_class, version):
        try:
            return catalogue.make_task(task_class, label, parameters)
        except TaskError:
            pass  # it has undeclared parameters, and becomes a separate task
    size = published.problem_size(record)
    if size is not None and "size" not in parameters:
        parameters |= {"size": size}
    iri = iris.mint(
        "task",
        task_class=slug(task_class),
        version=slug(version),
        label=slug(label),
        digest=digest(canonical_json(parameters))[:8],
    )
    return Task(iri, label, task_class, version, parameters)


def _turns(record: Record) -> tuple[Turn, ...]:
    nested = record.nested or {}
    return tuple(
        _turn(exchange, feedback_after(nested.get(str(k - 1), {})))
        for k, exchange in enumerate(record.exchanges)
    )


def _turn(exchange: Exchange, feedback: str | None) -> Turn:
    outcome = Outcome.CONTEXT_TOO_LONG if exchange.answer.startswith(_CONTEXT_TOO_LONG) else None
    reply = Reply(exchange.answer, outcome=outcome)
    call = Call(exchange.prompt_time, exchange.answer_time, reply)
    return Turn(exchange.prompt, (call,), feedback)
