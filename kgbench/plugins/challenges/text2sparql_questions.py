# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlQuestions: questions of the TEXT2SPARQL challenge, answered with a query.

An answer is judged by executing it and the reference query on the installed graph of the data set.
If kgbench cannot install the graph of a data set, queries are not executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.errors import EvaluationError, TaskError
from kgbench.families.frame import Family
from kgbench.families.queries import fenced_query
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.plugins.challenges import question_files
from kgbench.plugins.challenges.question_files import Question, QuestionFile
from kgbench.policies.policy import policy
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue, graph_schema, typed_answers

NAME: Final = "Text2SparqlQuestions"
POLICY: Final = "rows"
"""The comparison policy for the first evaluation of answers."""
BARE: Final = "question"
"""The form of prompts for question-answering systems: the question only."""

_FORM: Final = re.compile(r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)


def query(answer: str) -> str | None:
    """Return the query in an answer: the first fenced block with a query, else the whole answer.

    Question-answering systems answer with a bare query.
    """
    blocks = [block.body.strip() for block in fenced_blocks(answer)]
    candidates = blocks or [answer.strip()]
    return next((body for body in candidates if _FORM.search(body)), None)


class Text2SparqlQuestions(Family):
    """Questions of the challenge about installed data sets."""

    query = staticmethod(query)

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG002 - static
        """Return at most ``count`` questions of the installed data set in the language of ``task``.

        Raises :class:`~kgbench.errors.TaskError` if the data set is not installed or has no
        question in that language.
        """
        questions = question_files.installed(task.parameters["dataset"])
        language = task.parameters["language"]
        fitting = [item for item in questions.questions if language in item.texts]
        if not fitting:
            languages = ", ".join(questions.languages)
            raise TaskError(f"{questions.prefix} has no question in '{language}' (but {languages})")
        return [case(suite, task, questions, question) for question in fitting[:count]]

    def prompt(self, case: Case) -> str:
        """Return the bare question, or instructions with schema and question."""
        if case.parameters["prompt"] == BARE:
            question: str = case.data["question"]
            return question
        name = self.graph_name(case)
        if name is None:
            raise TaskError(f"the case {case.iri} has no installed graph whose schema can be shown")
        return self.prompt_about(name, case.data["question"])

    def prompt_about(self, name: str, question: str) -> str:
        """Return the prompt for any ``question`` about the installed graph called ``name``."""
        return self.text("prompt", question=question.strip(), schema=graph_schema.summary(name))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Execute the query of the last answer and the reference query; compare their results."""
        query_text, reason = self.query(answers[-1]), self.obstacle(case)
        if reason is not None and query_text is not None and executor.check(query_text, {}) is None:
            raise EvaluationError(f"{case.iri}: {reason}")
        return typed_answers.parsed_and_judged(policy(POLICY), case, answers, executor, self)

    def reference(self, case: Case) -> str:
        """Return the reference query in a fenced block."""
        return fenced_query(case)

    def graph_name(self, case: Case) -> str | None:
        """Return the installed graph for queries about ``case``; ``None`` if there is none."""
        name: str | None = case.data.get("graphName")
        return name

    def needs_recorded_results(self, case: Case) -> bool:
        """Return whether queries about ``case`` cannot be executed and need recorded results."""
        return self.graph_name(case) is None

    def obstacle(self, case: Case) -> str | None:
        """Return why answers to ``case`` cannot be judged by executing them, or ``None``."""
        if self.graph_name(case) is not None:
            return None
        name = case.parameters["dataset"]
        return f"the graph of {name} is not one that kgbench installs, so queries are not executed"

    def prepare(self) -> None:
        """Open graphs and load libraries for judging processes, which cannot open files."""
        typed_answers.prepare(policy(POLICY))


def task(dataset: str, language: str, prompt: str = BARE) -> Task:
    """Return the task about a data set in one language, with one form of its prompts."""
    suffix = "" if prompt == BARE else f"-{prompt}"
    return catalogue.make_task(
        NAME,
        f"{NAME}-{dataset}-{language}{suffix}",
        question_files.parameters(dataset, language, prompt),
    )


def case(
    suite: str,
    task: Task,
    questions: QuestionFile,
    question: Question,
    published: Mapping[str, int] | None = None,
) -> Case:
    """Return one question in the language of ``task``.

    ``published`` is the reference's result set.
    """
    language = task.parameters["language"]
    key = questions.key(question, language)
    data: dict[str, Json] = {
        "uid": key,
        "dataset": questions.dataset,
        "question": question.texts[language],
        "refSparql": question.query,
        "ordered": question.is_ordered,
    }
    if questions.prefix in question_files.WITH_GRAPH:
        data["graphName"] = questions.prefix
    if published is not None:
        data["publishedResultSet"] = dict(published)
    return catalogue.make_case(suite, NAME, task.parameters, data, key)
