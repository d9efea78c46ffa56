# SPDX-License-Identifier: Apache-2.0
"""Logs of kgbench's tasks that Inspect AI has run -> runs of kgbench, as plain values.

A log becomes one run with one published pass: every sample is a dialogue, every epoch a further
iteration. Scores are those of the log; they are not computed again (``kgbench reevaluate`` does
that). The same log has the same identity whether it is written as ``.eval`` or ``.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kgbench.errors import ImportRefused
from kgbench.evaluation import by_metric
from kgbench.importers.inspect_files import Log
from kgbench.importers.inspect_samples import (
    CASE,
    TURNS,
    VERDICTS,
    About,
    moment,
    read_protocol,
    read_scores,
    read_turn,
    read_verdict,
)
from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun
from kgbench.model import Case, Dialogue, Evaluation, Json, ModelSetup, Task, TaskClass, Verdict
from kgbench.rdf import canonical_json, digest
from kgbench.record import Recorder
from kgbench.record.evaluations import outcome_of
from kgbench.software import Software
from kgbench.store.iris import Iris, id_from, slug
from kgbench.tasks import catalogue

SCORER = "kgbench_scores"
_VERSION = re.compile(r"[\w.+!-]{1,60}")


@dataclass(frozen=True, slots=True)
class Read:
    """A run of a log, and how many samples were left out because they have no answer or score."""

    run: ImportedRun
    without_answer: int


def read_run(log: Log, iris: Iris) -> Read:
    """The run in a log.

    Raises :class:`~kgbench.errors.ImportRefused` for the log of another task, for one whose cases
    cannot be made again here, and for anything that is not as it should be.
    """
    about = [_about(log, sample) for sample in log.samples]
    if not about:
        raise ImportRefused(
            f"{log.name}: it holds no samples (was it written with --no-log-samples?)"
        )
    suites = {each.suite for each in about}
    if len(suites) > 1:
        raise ImportRefused(f"{log.name}: it mixes the suites {', '.join(sorted(suites))}")
    # What is read and nothing else: so it is the same run in every form of the log.
    content = [[s.get(name) for name in ("id", "epoch", "metadata", "scores")] for s in log.samples]
    identity = digest(canonical_json([_ids(log), _plain(content)]))
    conversion = _Conversion(log, iris, suites.pop(), id_from(f"inspect/{identity}"))
    items = [
        item
        for sample, one in zip(log.samples, about, strict=True)
        if (item := conversion.item(sample, one)) is not None
    ]
    if not items:
        raise ImportRefused(
            f"{log.name}: none of its {len(about)} samples has an answer and scores"
        )
    return Read(conversion.run(identity, items), len(about) - len(items))


def _about(log: Log, sample: Mapping[str, Json]) -> About:
    metadata = sample.get("metadata")
    if not isinstance(metadata, dict) or CASE not in metadata:
        task = str(log.header["eval"].get("task"))[:80]
        raise ImportRefused(
            f"{log.name}: {task!r} is no task of kgbench: only logs of "
            "'inspect eval kgbench/LABEL' can be imported, which name their cases"
        )
    return About.read(metadata[CASE], _named(log, sample))


def _named(log: Log, sample: Mapping[str, Json]) -> str:
    return (
        f"{log.name}: sample {str(sample.get('id'))[:40]} of epoch {str(sample.get('epoch'))[:9]}"
    )


def _ids(log: Log) -> list[Json]:
    return [log.header["eval"].get(name) for name in ("eval_id", "task_id", "created", "model")]


def _plain(value: Json) -> Json:
    """``value`` with what canonical JSON does not take (``NaN``) written out."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return repr(value) if isinstance(value, float) else value


@dataclass(slots=True)
class _Conversion:
    log: Log
    iris: Iris
    suite: str
    run_id: str
    tasks: dict[str, Task] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    iterations: Counter[str] = field(default_factory=Counter)
    model: ModelSetup = field(init=False)
    recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self.model = _model(self.log, self.iris)
        self.recorder = Recorder(self.iris, self.run_id, self.pass_id)

    @property
    def pass_id(self) -> str:
        return id_from(f"{self.run_id}/published")

    def run(
        self, identity: str, items: list[tuple[Dialogue, tuple[Evaluation, ...]]]
    ) -> ImportedRun:
        started = [dialogue.started for dialogue, _ in items if dialogue.started is not None]
        ended = [dialogue.ended for dialogue, _ in items if dialogue.ended is not None]
        return ImportedRun(
            source=self.log.name,
            digest=identity,
            generation=1,
            suite=self.suite,
            run_id=self.run_id,
            pass_id=self.pass_id,
            started=min(started),
            ended=max(ended),
            software=_software(self.log),
            tasks=self.tasks,
            cases=self.cases,
            versions=self.versions,
            models={self.model.iri: ImportedModel(self.model, (self.model.model_id,))},
            undeclared_metrics={},
            items=tuple(items),
        )

    def item(
        self, sample: Mapping[str, Json], about: About
    ) -> tuple[Dialogue, tuple[Evaluation, ...]] | None:
        named = _named(self.log, sample)
        task, case = about.task(named), about.case(named)
        score = _part(sample, "scores", named).get(SCORER)
        turns = sample["metadata"].get(TURNS)
        if sample.get("error") is not None or not turns or score is None:
            return None
        if not isinstance(turns, list) or not isinstance(score, dict):
            raise ImportRefused(f"{named}: its turns or scores are not as kgbench writes them")
        task_class = catalogue.task_class(task.task_class)
        self.tasks.setdefault(task.iri, task)
        self.cases.setdefault(case.iri, case)
        self.versions.setdefault(case.iri, task.version)
        iteration = self.iterations[task.label]
        self.iterations[task.label] += 1
        planned = digest(canonical_json([self.run_id, about.as_json(), iteration]))
        dialogue = Dialogue(
            iri=self.recorder.dialogue_iri(self.model.label, task.label, iteration, planned),
            run=self.recorder.run,
            model=self.model.iri,
            task=task.iri,
            suite=self.iris.mint("suite", suite=self.suite),
            case=case.iri,
            iteration=iteration,
            digest=planned,
            turns=tuple(read_turn(one, f"{named}: turn {k}") for k, one in enumerate(turns)),
            started=moment(turns[0].get("started"), named),
            ended=moment(turns[-1].get("ended"), named),
            tool_protocol=read_protocol(sample["metadata"], named),
        )
        if (judged := len(dialogue.judged)) > task_class.max_rounds:
            raise ImportRefused(f"{named}: {judged} answers are more than the task takes")
        return dialogue, self.evaluations(task_class, dialogue, score, named)

    def evaluations(
        self, task_class: TaskClass, dialogue: Dialogue, score: Mapping[str, Json], named: str
    ) -> tuple[Evaluation, ...]:
        given = _part(score, "metadata", named).get(VERDICTS)
        if not isinstance(given, list) or len(given) != len(dialogue.judged):
            raise ImportRefused(f"{named}: its score has not one verdict for each answer")
        declared = task_class.answer_metrics
        verdicts = [
            read_verdict(one, declared, f"{named}: verdict {k}") for k, one in enumerate(given)
        ]
        whole = task_class.max_rounds > 1
        names = {name: m for name, m in task_class.metrics.items() if name not in declared}
        said = read_scores(score.get("value"), names if whole else declared, f"{named}: its score")
        if not whole:
            verdicts[-1] = _with(verdicts[-1], said)
        rounds = zip(dialogue.judged, verdicts, strict=True)
        found = [self._one(task_class, dialogue, k, v, v.scores) for k, v in rounds]
        if whole:
            found.append(self._one(task_class, dialogue, None, _last(verdicts), said))
        return tuple(found)

    def _one(
        self,
        task_class: TaskClass,
        dialogue: Dialogue,
        k: int | None,
        verdict: Verdict,
        scores: Mapping[str, float],
    ) -> Evaluation:
        turn = dialogue.turns[-1 if k is None else k]
        count = {"multiShotCount": len(dialogue.turns)}
        return Evaluation(
            iri=self.recorder.evaluation_iri(dialogue.iri, k),
            dialogue=dialogue.iri,
            round=k,
            outcome=outcome_of(turn, verdict.outcome),
            scores=by_metric(task_class, dict(scores)),
            infos=count if k is None else verdict.infos,
        )


def _part(value: Mapping[str, Json], field: str, named: str) -> Mapping[str, Json]:
    """An object that a field holds; an empty one where it is missing."""
    found = value.get(field)
    if found is not None and not isinstance(found, dict):
        raise ImportRefused(f"{named}: '{field}' is no object")
    return found or {}


def _with(verdict: Verdict, scores: Mapping[str, float]) -> Verdict:
    return Verdict(scores, verdict.infos, verdict.outcome, verdict.next_prompt, verdict.feedback)


def _last(verdicts: list[Verdict]) -> Verdict:
    """The verdict that says how the dialogue ended: the first that could not be judged, if any."""
    return next((v for v in verdicts if not v.scores), verdicts[-1])


def _model(log: Log, iris: Iris) -> ModelSetup:
    """The model by the name that Inspect gives it, with the settings it was asked with."""
    said = log.header["eval"]
    name = said.get("model")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ImportRefused(f"{log.name}: eval.model is no name of a model")
    config = said.get("model_generate_config")
    sampling = {
        key: value
        for key, value in (config.items() if isinstance(config, dict) else ())
        if isinstance(value, int | float | str)
    }
    part = f"~{digest(canonical_json(_plain(sampling)))[:8]}" if sampling else ""
    return ModelSetup(
        iri=iris.mint("model", model=slug(name) + part),
        label=name,
        connector="",
        model_id=name,
        spec=name,
        sampling=sampling,
    )


def _software(log: Log) -> Software:
    """Inspect AI in the version that wrote the log."""
    packages = log.header["eval"].get("packages")
    version = packages.get("inspect_ai") if isinstance(packages, dict) else None
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return Software("Inspect AI", str(version) if known else "unknown")
