# SPDX-License-Identifier: Apache-2.0
"""Conversion of Inspect AI logs of kgbench's tasks to runs of kgbench.

A log becomes one run with one published pass: each sample is a dialogue, each epoch an iteration.
Scores are taken from the log; ``kgbench reevaluate`` computes them again. A log has the same
identity as ``.eval`` and as ``.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import kgbench.api as kb
from kgbench.evaluation import scores_by_iri
from kgbench.importers.llm_kg_bench import Item
from kgbench.model import Evaluation, TaskClass
from kgbench.plugins.inspect.files import Log
from kgbench.plugins.inspect.samples import (
    CASE,
    TURNS,
    VERDICTS,
    CaseIdentity,
    moment,
    read_protocol,
    read_scores,
    read_turn,
    read_verdict,
)
from kgbench.rdf import canonical_json, digest
from kgbench.software import Software
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue

SCORER = "kgbench_scores"
_VERSION = re.compile(r"[\w.+!-]{1,60}")


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """The run of a log, and the number of samples left out for lack of an answer or score."""

    run: kb.ImportedRun
    without_answer: int


def read_run(log: Log, iris: Iris) -> ImportedLog:
    """Convert a log to a run.

    Raises :class:`~kgbench.errors.ImportRefused` for logs of other tasks, for logs whose cases
    cannot be generated again by this kgbench, and for malformed ones.
    """
    sample_cases = [_sample_case(log, sample) for sample in log.samples]
    if not sample_cases:
        raise kb.ImportRefused(
            f"{log.name}: it holds no samples (was it written with --no-log-samples?)"
        )
    suites = {sample_case.suite for sample_case in sample_cases}
    if len(suites) > 1:
        raise kb.ImportRefused(f"{log.name}: it mixes the suites {', '.join(sorted(suites))}")
    # Only what is read: both formats of a log must give the same run.
    ids = [log.header["eval"].get(name) for name in ("eval_id", "task_id", "created", "model")]
    content = [[s.get(name) for name in ("id", "epoch", "metadata", "scores")] for s in log.samples]
    identity = digest(canonical_json([ids, _plain(content)]))
    conversion = _Conversion(log, iris, suites.pop(), identity)
    items = [
        item
        for sample, sample_case in zip(log.samples, sample_cases, strict=True)
        if (item := conversion.item(sample, sample_case)) is not None
    ]
    if not items:
        raise kb.ImportRefused(
            f"{log.name}: none of its {len(sample_cases)} samples has an answer and scores"
        )
    return ImportedLog(conversion.imported(items), len(sample_cases) - len(items))


def _sample_case(log: Log, sample: Mapping[str, kb.Json]) -> CaseIdentity:
    metadata = sample.get("metadata")
    if not isinstance(metadata, dict) or CASE not in metadata:
        task = str(log.header["eval"].get("task"))[:80]
        raise kb.ImportRefused(
            f"{log.name}: {task!r} is not a task of kgbench: only logs of "
            "'inspect eval kgbench/LABEL' can be imported, which name their cases"
        )
    return CaseIdentity.read(metadata[CASE], _sample_name(log, sample))


def _sample_name(log: Log, sample: Mapping[str, kb.Json]) -> str:
    return (
        f"{log.name}: sample {str(sample.get('id'))[:40]} of epoch {str(sample.get('epoch'))[:9]}"
    )


def _plain(value: kb.Json) -> kb.Json:
    """Replace floats by text, because canonical JSON does not allow ``NaN``."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return repr(value) if isinstance(value, float) else value


class _Conversion:
    def __init__(self, log: Log, iris: Iris, suite: str, identity: str) -> None:
        self._log = log
        self._tasks: dict[str, kb.Task] = {}
        self._cases: dict[str, kb.Case] = {}
        self._iterations: Counter[str] = Counter()
        self._run = kb.PublishedRun(
            iris,
            suite,
            _model(log, iris),
            _software(log),
            source=log.name,
            content=identity,
            identity=f"inspect/{identity}",
        )

    def imported(self, items: list[Item]) -> kb.ImportedRun:
        started = [dialogue.started for dialogue, _ in items if dialogue.started is not None]
        ended = [dialogue.ended for dialogue, _ in items if dialogue.ended is not None]
        tasks, cases = self._tasks.values(), self._cases.values()
        return self._run.imported(tasks, cases, items, started=min(started), ended=max(ended))

    def item(self, sample: Mapping[str, kb.Json], identity: CaseIdentity) -> Item | None:
        source = _sample_name(self._log, sample)
        task, case = identity.task(source), identity.case(source)
        score = _object_field(sample, "scores", source).get(SCORER)
        turns = sample["metadata"].get(TURNS)
        if sample.get("error") is not None or not turns or score is None:
            return None
        if not isinstance(turns, list) or not isinstance(score, dict):
            raise kb.ImportRefused(f"{source}: its turns or scores are not as kgbench writes them")
        task_class = catalogue.task_class(task.task_class)
        self._tasks.setdefault(task.iri, task)
        self._cases.setdefault(case.iri, case)
        iteration = self._iterations[task.label]
        self._iterations[task.label] += 1
        dialogue = self._run.dialogue(
            task,
            case,
            iteration,
            [self._run.id, identity.as_json(), iteration],
            turns=[read_turn(turn, f"{source}: turn {k}") for k, turn in enumerate(turns)],
            started=moment(turns[0].get("started"), source),
            ended=moment(turns[-1].get("ended"), source),
            tool_protocol=read_protocol(sample["metadata"], source),
        )
        if (answers := len(dialogue.judged)) > task_class.max_rounds:
            raise kb.ImportRefused(f"{source}: {answers} answers are more than the task takes")
        return dialogue, self._evaluations(task_class, dialogue, score, source)

    def _evaluations(
        self,
        task_class: TaskClass,
        dialogue: kb.Dialogue,
        score: Mapping[str, kb.Json],
        source: str,
    ) -> tuple[Evaluation, ...]:
        values = _object_field(score, "metadata", source).get(VERDICTS)
        if not isinstance(values, list) or len(values) != len(dialogue.judged):
            raise kb.ImportRefused(f"{source}: its score does not have one verdict for each answer")
        declared = task_class.answer_metrics
        verdicts = [
            read_verdict(value, declared, f"{source}: verdict {k}")
            for k, value in enumerate(values)
        ]
        has_rounds = task_class.max_rounds > 1
        names = {name: m for name, m in task_class.metrics.items() if name not in declared}
        scores = read_scores(
            score.get("value"), names if has_rounds else declared, f"{source}: its score"
        )
        if not has_rounds:
            verdicts[-1] = replace(verdicts[-1], scores=scores)
        results = [
            self._run.evaluation(
                dialogue,
                k,
                verdict.outcome,
                scores_by_iri(task_class, verdict.scores),
                verdict.infos,
            )
            for k, verdict in zip(dialogue.judged, verdicts, strict=True)
        ]
        if has_rounds:  # the first verdict without scores, else the last one
            final = next((v for v in verdicts if not v.scores), verdicts[-1])
            count = {"multiShotCount": len(dialogue.turns)}
            by_metric = scores_by_iri(task_class, scores)
            results.append(self._run.evaluation(dialogue, None, final.outcome, by_metric, count))
        return tuple(results)


def _object_field(value: Mapping[str, kb.Json], field: str, source: str) -> Mapping[str, kb.Json]:
    part = value.get(field)
    if part is not None and not isinstance(part, dict):
        raise kb.ImportRefused(f"{source}: '{field}' is not an object")
    return part or {}


def _model(log: Log, iris: Iris) -> kb.ModelSetup:
    """Return the model under the name that Inspect uses, with its generation settings."""
    header = log.header["eval"]
    name = header.get("model")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise kb.ImportRefused(f"{log.name}: eval.model is not the name of a model")
    config = header.get("model_generate_config")
    sampling = {
        key: value
        for key, value in (config.items() if isinstance(config, dict) else ())
        if isinstance(value, int | float | str)
    }
    suffix = f"~{digest(canonical_json(_plain(sampling)))[:8]}" if sampling else ""
    return kb.ModelSetup(
        iri=iris.mint("model", model=slug(name) + suffix),
        label=name,
        connector="",
        model_id=name,
        spec=name,
        sampling=sampling,
    )


def _software(log: Log) -> Software:
    packages = log.header["eval"].get("packages")
    version = packages.get("inspect_ai") if isinstance(packages, dict) else None
    is_valid = isinstance(version, str) and _VERSION.fullmatch(version)
    return Software("Inspect AI", str(version) if is_valid else "unknown")
