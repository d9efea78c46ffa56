# SPDX-License-Identifier: Apache-2.0
"""Conversion of answers that other benchmarks published to runs, shared by SPINACH and GRASP.

An answer is a query. When systems were asked is not published: a fixed day is recorded, and a call
lasts as long as is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kgbench.importers.llm_kg_bench import ImportedModel, ImportedRun, Item
from kgbench.model import (
    Case,
    Dialogue,
    Evaluation,
    Json,
    ModelSetup,
    Outcome,
    Task,
    Turn,
)
from kgbench.rdf import canonical_json, digest
from kgbench.record.recorder import Recorder
from kgbench.software import Software
from kgbench.store.iris import Iris, id_from, slug
from kgbench.tasks import catalogue


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The benchmark that published answers: its suite, task class, software, and recorded day."""

    suite: str
    task_class: str
    software: Software
    day: datetime


@dataclass(frozen=True, slots=True)
class PublishedAnswer:
    """The answer to one question, after ``turns``.

    ``data`` is the data of the case, ``uid`` its name in the data set. ``text`` is the query, empty
    if the system gave none. ``scores`` (by short name) and ``infos`` are those of the evaluation;
    without both, no evaluation is recorded. ``ended`` is the end of the last turn.
    """

    uid: str
    data: Mapping[str, Json]
    turns: tuple[Turn, ...]
    text: str
    scores: Mapping[str, float]
    infos: Mapping[str, Json]
    ended: datetime


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """The answers of one system to one data set; ``digest`` covers all files read for them."""

    system: str
    dataset: str
    digest: str
    answers: Sequence[PublishedAnswer]

    def counts(self) -> dict[str, int]:
        """Count tool calls, repetitions of calls within a dialogue, and missing answers."""
        dialogues = [
            [(use.call.name, use.call.arguments) for turn in answer.turns for use in turn.uses]
            for answer in self.answers
        ]
        return {
            "tool_calls": sum(map(len, dialogues)),
            "repeated_calls": sum(len(calls) - len(set(calls)) for calls in dialogues),
            "unanswered": sum(not answer.text.strip() for answer in self.answers),
        }


def imported_run(benchmark: Benchmark, file: AnswerFile, iris: Iris) -> ImportedRun:
    """Convert the answers of ``file`` to a run with a published pass."""
    source = f"{benchmark.software.name} {file.dataset} {file.system}"
    run_id = id_from(f"{source}/{file.digest}")
    pass_id = id_from(f"{run_id}/published")
    recorder = Recorder(iris, run_id, pass_id)
    task = catalogue.make_task(
        benchmark.task_class,
        f"{benchmark.task_class}-{slug(file.dataset)}",
        {"dataset": file.dataset},
    )
    version = catalogue.task_class(benchmark.task_class).version
    model = ModelSetup(
        iri=iris.mint("model", model=slug(file.system)),
        label=file.system,
        connector="",
        model_id=file.system,
        spec=file.system,
    )
    cases: dict[str, Case] = {}
    items: list[Item] = []
    for index, answer in enumerate(file.answers):
        case = catalogue.make_case(
            benchmark.suite, benchmark.task_class, task.parameters, answer.data, answer.uid
        )
        cases[case.iri] = case
        dialogue = _dialogue(benchmark, answer, recorder, (task, case, model), index)
        items.append((dialogue, _evaluations(benchmark, answer, recorder, dialogue)))
    return ImportedRun(
        source=source,
        digest=file.digest,
        generation=1,
        suite=benchmark.suite,
        run_id=run_id,
        pass_id=pass_id,
        started=benchmark.day,
        ended=max([benchmark.day, *(answer.ended for answer in file.answers)]),
        software=benchmark.software,
        tasks={task.iri: task},
        cases=cases,
        versions=dict.fromkeys(cases, version),
        models={model.iri: ImportedModel(model, (file.system,))},
        undeclared_metrics={},
        items=items,
        is_judged=any(evaluations for _, evaluations in items),
    )


def _dialogue(
    benchmark: Benchmark,
    answer: PublishedAnswer,
    recorder: Recorder,
    context: tuple[Task, Case, ModelSetup],
    iteration: int,
) -> Dialogue:
    task, case, model = context
    dialogue_digest = digest(canonical_json([model.label, iteration, answer.uid, answer.text]))
    return Dialogue(
        iri=recorder.dialogue_iri(model.label, task.label, iteration, dialogue_digest),
        run=recorder.run,
        model=model.iri,
        task=task.iri,
        suite=recorder.iris.mint("suite", suite=benchmark.suite),
        case=case.iri,
        iteration=iteration,
        digest=dialogue_digest,
        turns=answer.turns,
        started=benchmark.day,
        ended=answer.ended,
    )


def _evaluations(
    benchmark: Benchmark, answer: PublishedAnswer, recorder: Recorder, dialogue: Dialogue
) -> tuple[Evaluation, ...]:
    if not answer.scores and not answer.infos:
        return ()
    metrics = catalogue.metric_iris(benchmark.task_class)
    return (
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, len(answer.turns) - 1),
            dialogue=dialogue.iri,
            round=len(answer.turns) - 1,
            outcome=Outcome.SCORED if answer.text.strip() else Outcome.EMPTY,
            scores={metrics[name]: value for name, value in answer.scores.items()},
            infos=answer.infos,
        ),
    )
