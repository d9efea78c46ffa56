# SPDX-License-Identifier: Apache-2.0
"""Families of questions that other benchmarks ask, answered with a query.

Queries are executed on the installed graph of a case; without one, the results of both queries are
recorded with the imported answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import kgbench.api as kb
from kgbench.families.queries import fenced_query
from kgbench.plugins.challenges import question_files
from kgbench.plugins.challenges.question_files import Question, QuestionFile
from kgbench.tasks import graphs, typed_answers

NAME: Final = "Text2SparqlQuestions"
BARE: Final = "question"
"""The form of prompts for question-answering systems: the question only."""

_ROWS: Final = re.compile(r"\b(?:SELECT|ASK)\b", re.IGNORECASE)
_ANY: Final = re.compile(r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)


def query(answer: str, form: re.Pattern[str] = _ROWS) -> str | None:
    """Return the first fenced block with a query, else the whole answer if it is a query.

    Question-answering systems answer with a bare query.
    """
    candidates = [block.body.strip() for block in kb.fenced_blocks(answer)] or [answer.strip()]
    return next((body for body in candidates if form.search(body)), None)


class Questions(kb.Family):
    """A family of questions whose answers are judged by a declared policy."""

    policy: ClassVar[str]

    def query(self, answer: str) -> str | None:
        """Return the query in an answer."""
        return query(answer)

    def prompt(self, case: kb.Case) -> str:
        """Return the question only."""
        question: str = case.data["question"]
        return question

    def judge(self, case: kb.Case, answers: Sequence[str], executor: kb.Executor) -> kb.Verdict:
        """Return the verdict of the policy; see :func:`kgbench.tasks.typed_answers.judge`."""
        return typed_answers.judge(kb.policy(self.policy), case, answers, executor, self)

    def reference(self, case: kb.Case) -> str:
        """Return the reference query in a fenced block."""
        return fenced_query(case)

    def graph_name(self, case: kb.Case) -> str | None:
        """Return the installed graph for queries about ``case``; ``None`` if there is none."""
        name: str | None = case.data.get("graphName")
        return name

    def needs_recorded_results(self, case: kb.Case) -> bool:
        """Return whether queries about ``case`` need recorded results because there is no graph."""
        return self.graph_name(case) is None

    def prepare(self) -> None:
        """Open graphs and load libraries for judging processes, which cannot open files."""
        typed_answers.prepare(kb.policy(self.policy))


class RecordedQuestions(Questions):
    """A family whose cases are all imported with published answers."""

    LOADS = ("row matching",)

    def cases(self, task: kb.Task, suite: str, seed: int, count: int) -> Sequence[kb.Case]:  # noqa: ARG002 - none
        """Raise :class:`~kgbench.errors.TaskError`, because all cases are imported."""
        raise kb.TaskError(f"{task.label} has no cases of its own: they come with imported answers")


class Text2SparqlQuestions(Questions):
    """Questions of the TEXT2SPARQL challenge about installed data sets."""

    policy = "rows"

    def query(self, answer: str) -> str | None:
        """Return the query in an answer, of any form."""
        return query(answer, _ANY)

    def cases(self, task: kb.Task, suite: str, seed: int, count: int) -> Sequence[kb.Case]:  # noqa: ARG002 - static
        """Return at most ``count`` questions of the installed data set in the language of ``task``.

        Raises :class:`~kgbench.errors.TaskError` if the data set is not installed or has no
        question in that language.
        """
        questions = question_files.installed(task.parameters["dataset"])
        asked = questions.asked_in(task.parameters["language"])
        return [case(suite, task, questions, question) for question in asked[:count]]

    def prompt(self, case: kb.Case) -> str:
        """Return the bare question, or instructions with schema and question."""
        if case.parameters["prompt"] == BARE:
            return super().prompt(case)
        name = self.graph_name(case)
        if name is None:
            raise kb.TaskError(
                f"the case {case.iri} has no installed graph whose schema can be shown"
            )
        question = case.data["question"].strip()
        return self.text("prompt", question=question, schema=graphs.summary(name))

    def judge(self, case: kb.Case, answers: Sequence[str], executor: kb.Executor) -> kb.Verdict:
        """Execute the query of the last answer and the reference query; compare their results."""
        query_text, reason = self.query(answers[-1]), self.obstacle(case)
        if reason is not None and query_text is not None and executor.check(query_text, {}) is None:
            raise kb.EvaluationError(f"{case.iri}: {reason}")
        return typed_answers.parsed_and_judged(
            kb.policy(self.policy), case, answers, executor, self
        )

    def obstacle(self, case: kb.Case) -> str | None:
        """Return why answers to ``case`` cannot be judged by executing them, or ``None``."""
        if self.graph_name(case) is not None:
            return None
        name = case.parameters["dataset"]
        return f"the graph of {name} is not one that kgbench installs, so queries are not executed"


def task(dataset: str, language: str, prompt: str = BARE) -> kb.Task:
    """Return the task about a data set in one language, with one form of its prompts."""
    suffix = "" if prompt == BARE else f"-{prompt}"
    parameters = {"dataset": dataset, "language": language, "prompt": prompt}
    return kb.make_task(NAME, f"{NAME}-{dataset}-{language}{suffix}", parameters)


def case(
    suite: str,
    task: kb.Task,
    questions: QuestionFile,
    question: Question,
    published: Mapping[str, int] | None = None,
) -> kb.Case:
    """Return one question in the language of ``task``.

    ``published`` is the reference's result set.
    """
    data = questions.data(question, task.parameters["language"])
    data["dataset"] = questions.dataset
    if questions.prefix not in question_files.WITH_GRAPH:
        del data["graphName"]
    if published is not None:
        data["publishedResultSet"] = dict(published)
    return kb.make_case(suite, NAME, task.parameters, data, data["uid"])


def labelled_tasks(questions: QuestionFile) -> list[dict[str, kb.Json]]:
    """Return the tasks of questions whose graph is installed.

    Each language has two tasks: one whose prompt is only the question, as systems are asked, and
    one whose prompt includes the schema of the graph. Three more give access to the graph by
    schema, by tools, or by both.
    """
    made = [
        task(questions.prefix, language, prompt)
        for language in questions.languages
        for prompt in (BARE, "schema")
    ]
    plain = [
        {"class": NAME, "label": each.label, "parameters": dict(each.parameters)} for each in made
    ]
    if questions.prefix not in question_files.WITH_GRAPH:
        return plain
    with_tools = [
        {
            "class": "Text2SparqlTools",
            "label": f"Text2SparqlTools-{questions.prefix}-{language}-{condition}",
            "parameters": {
                "graph": questions.prefix,
                "language": language,
                "condition": condition,
            },
        }
        for language in questions.languages
        for condition in ("schema", "tools", "tools-and-schema")
    ]
    return plain + with_tools
