# SPDX-License-Identifier: Apache-2.0
"""Scores of answers outside of a benchmark run, and a minimal executor for tests of judges.

The executor is pyoxigraph in this process, without limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from numbers import Integral

import pyoxigraph as ox

from kgbench.connectors import extraction as steps
from kgbench.errors import EvaluationError, TaskError, nearest
from kgbench.execution import graph_changes
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Case, Json, Outcome, ParsedGraph, QueryResult, Task
from kgbench.rdf.quads import to_ntriples
from kgbench.scoring.formulas import aggregate
from kgbench.tasks import catalogue

TRIPLE: tuple[str, ...] = ("subject", "predicate", "object")  # the variables of a CONSTRUCT's rows
FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "json-ld": ox.RdfFormat.JSON_LD,
    "xml": ox.RdfFormat.RDF_XML,
    "ntriples": ox.RdfFormat.N_TRIPLES,
}


class PlainExecutor:
    """An executor without child processes, limits or refusals, for trusted texts of a test."""

    def __init__(self) -> None:
        self._stores: dict[str, ox.Store] = {}

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Parse ``text`` into N-Triples lines, or return the parser's message."""
        try:
            quads = list(ox.parse(text.encode("utf-8"), FORMATS[rdf_format]))
        except (SyntaxError, ValueError) as error:
            return ParsedGraph(None, str(error))
        return ParsedGraph(tuple(f"{quad.triple} ." for quad in quads))

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """Return the syntax error that an empty store reports, or ``None``."""
        try:
            if update and graph_changes.refusal(query) in {None, graph_changes.NO_CHANGE}:
                ox.Store().update(query, prefixes=dict(prefixes))
            elif update:
                return graph_changes.refusal(query)
            else:
                self._store("").query(query, prefixes=dict(prefixes))
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            return str(error)
        return None

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT over the Turtle text ``graph``."""
        result = self.results(query, graph, prefixes)
        assert result.boolean is None
        return result

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT or an ASK over the Turtle text ``graph``."""
        result = self.explore(query, graph, prefixes)
        assert result.variables != TRIPLE
        return result

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT, an ASK or a CONSTRUCT over the Turtle text ``graph``."""
        try:
            result = self._store(graph).query(query, prefixes=dict(prefixes))
            if isinstance(result, ox.QueryBoolean):
                return QueryResult(boolean=bool(result))
            variables = TRIPLE
            if isinstance(result, ox.QuerySolutions):
                variables = tuple(variable.value for variable in result.variables)
            rows = tuple(
                tuple(None if term is None else to_ntriples(term) for term in solution)
                for solution in result
            )
        except (SyntaxError, ValueError, OSError) as error:
            return QueryResult(error=str(error))
        return QueryResult(variables, rows)

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the triples that an update or a CONSTRUCT adds and removes."""
        if (reason := graph_changes.refusal(text)) is not None:
            return QueryResult(error=reason, refused=True)
        try:
            return graph_changes.changes(self._store(graph), text, prefixes, {})
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            return QueryResult(error=str(error))

    def _store(self, text: str) -> ox.Store:
        if text not in self._stores:
            store = ox.Store()
            store.bulk_load(text.encode("utf-8"), ox.RdfFormat.TURTLE)
            self._stores[text] = store
        return self._stores[text]


SUITE = "testing"


@dataclass(frozen=True, slots=True)
class Example:
    """A case of a task, with its prompt and an answer that gets the best score."""

    case: Case
    prompt: str
    reference: str


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of judging answers: ``scores`` by short name, also those of the whole dialogue.

    ``outcome`` and ``infos`` are those of the last answer, and ``feedback`` is the next prompt to a
    model (``None`` at the end of the dialogue). ``main`` is the most important score, ``None`` if
    the answer could not be judged.
    """

    scores: Mapping[str, float]
    outcome: Outcome
    infos: Mapping[str, Json]
    feedback: str | None
    main: float | None


def example(label: str, case: int = 0, *, seed: int = 0) -> Example:
    """Return case number ``case`` (from 0) of the task called ``label``.

    Raises :class:`~kgbench.errors.TaskError` if there is no such task or case.

    >>> asked = kgbench.example("RdfFriendCount-turtle-1")
    >>> kgbench.score("RdfFriendCount-turtle-1", asked.reference).main
    1.0
    """
    task = _task(label)
    module = catalogue.module(task.task_class)
    if not isinstance(case, Integral) or case < 0:
        raise TaskError(f"the task {label} has no case number {case!r}: cases count from 0")
    cases = list(islice(module.cases(task, SUITE, seed, case + 1), case, case + 1))
    if not cases:
        raise TaskError(f"the task {label} has no case number {case} (from 0)")
    return Example(cases[0], module.prompt(cases[0]), module.reference(cases[0]))


def score(
    label: str,
    *answers: str,
    case: int = 0,
    seed: int = 0,
    limits: JudgeLimits | None = None,
    extraction: str = steps.DEFAULT,
) -> Scored:
    """Judge the ``answers`` of one dialogue in a child process with limits, as a run does.

    The first answer is to the prompt, each further one to the feedback on the one before.
    ``extraction`` names the step that separates reasoning from them, as the option of models does.
    Raises :class:`~kgbench.errors.TaskError` for a number of answers that the task does not take,
    :class:`~kgbench.errors.ModelSpecError` for an unknown step, and
    :class:`~kgbench.errors.EvaluationError` if the judge fails.

    >>> kgbench.score("RdfFriendCount-turtle-1", "I do not know.").main
    0.0
    """
    task_class = catalogue.task_class(_task(label).task_class)
    if not 0 < len(answers) <= task_class.max_rounds:
        raise TaskError(f"{label} takes 1 to {task_class.max_rounds} answers, not {len(answers)}")
    step = steps.find(extraction)
    answers = tuple(step(answer).text for answer in answers)
    asked_case = example(label, case, seed=seed).case
    requests = [JudgeRequest(asked_case, answers[: k + 1]) for k in range(len(answers))]
    verdicts = judge_batch(requests, limits or JudgeLimits())
    for verdict in verdicts:
        if verdict.outcome is Outcome.EVALUATOR_ERROR:
            raise EvaluationError(f"{label}: {verdict.infos.get('message')}")
    last = verdicts[-1]
    scores = dict(last.scores)
    if task_class.max_rounds > 1 and all(verdict.scores for verdict in verdicts):
        of_dialogues = {name for name, m in task_class.metrics.items() if m.aggregation is not None}
        scores |= aggregate([v.scores for v in verdicts], of_dialogues, task_class.max_rounds)
    main = scores.get(task_class.main_metric)
    return Scored(scores, last.outcome, last.infos, last.next_prompt, main)


def _task(label: str) -> Task:
    tasks = catalogue.labelled_tasks()
    if label not in tasks:
        raise TaskError(f"there is no task '{label}': {nearest(label, tasks)}")
    return tasks[label]
