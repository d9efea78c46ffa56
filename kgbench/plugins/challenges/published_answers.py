# SPDX-License-Identifier: Apache-2.0
"""Conversion of answers that other benchmarks published to runs, one for each system.

An answer is a query. When systems were asked is not published: a fixed day is recorded, and a call
lasts as long as is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import kgbench.api as kb
from kgbench.importers.llm_kg_bench import Item
from kgbench.model import Evaluation
from kgbench.software import Software
from kgbench.store.iris import Iris, slug
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
    data: Mapping[str, kb.Json]
    turns: tuple[kb.Turn, ...]
    text: str
    scores: Mapping[str, float]
    infos: Mapping[str, kb.Json]
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


def imported_run(benchmark: Benchmark, file: AnswerFile, iris: Iris) -> kb.ImportedRun:
    """Convert the answers of ``file`` to a run."""
    name, suite, day = benchmark.task_class, benchmark.suite, benchmark.day
    task = catalogue.make_task(name, f"{name}-{slug(file.dataset)}", {"dataset": file.dataset})
    metrics = catalogue.metric_iris(name)
    source = f"{benchmark.software.name} {file.dataset} {file.system}"
    model = kb.published_model(iris, file.system)
    run = kb.PublishedRun(
        iris, suite, model, benchmark.software, source=source, content=file.digest
    )
    cases: list[kb.Case] = []
    items: list[Item] = []
    for index, answer in enumerate(file.answers):
        case = catalogue.make_case(suite, name, task.parameters, answer.data, answer.uid)
        identity = [file.system, index, answer.uid, answer.text]
        dialogue = run.dialogue(
            task, case, index, identity, turns=answer.turns, started=day, ended=answer.ended
        )
        evaluations: tuple[Evaluation, ...] = ()
        if answer.scores or answer.infos:
            scores = {metrics[score]: value for score, value in answer.scores.items()}
            outcome = kb.Outcome.SCORED if answer.text.strip() else kb.Outcome.EMPTY
            last = len(answer.turns) - 1
            evaluations = (run.evaluation(dialogue, last, outcome, scores, answer.infos),)
        cases.append(case)
        items.append((dialogue, evaluations))
    return run.imported(
        [task],
        cases,
        items,
        started=day,
        ended=max([day, *(answer.ended for answer in file.answers)]),
        is_judged=any(evaluations for _, evaluations in items),
    )


def share(value: kb.Json, label: str) -> float:
    """Return a published score.

    Raises :class:`~kgbench.errors.ImportRefused` if it is not a number from 0 to 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise kb.ImportRefused(f"{label} is not a number from 0 to 1")
    return float(value)
