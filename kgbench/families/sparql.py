# SPDX-License-Identifier: Apache-2.0
"""The frames of families whose answers are SPARQL texts about a world, and the judge of queries.

Texts that write triples add them to the world, or remove them. The changes of an answer are
compared with those of the reference text, triple by triple, as terms and up to the names of blank
nodes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from kgbench.errors import EvaluationError, TaskError
from kgbench.families import frame, queries
from kgbench.families.comparing import LONGEST, listed
from kgbench.families.frame import DrawnFamily, Feedback
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, Task, TaskModule, Verdict
from kgbench.policies.blank_nodes import Row, RowComparison, compare_rows
from kgbench.policies.policy import policy
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import graphs, texts, typed_answers
from kgbench.worlds import generator, questions
from kgbench.worlds.writing import PREFIXES

POLICY = "rows"
"""The policy under which results are compared."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ``prefixes`` that SPARQL texts about any world may use undeclared."""

    prefixes: Mapping[str, str]

    def of(self, case: Case) -> Mapping[str, str]:
        """Return the prefixes by name, which are the same for all cases."""
        return self.prefixes

    for_queries = of


def prepare() -> None:
    """Load what the judge of queries needs, for judging processes, which cannot open files."""
    typed_answers.prepare(policy(POLICY))


class SparqlFamily(DrawnFamily):
    """A family of questions or exercises about the world of a plan's seed.

    Its answers are texts of SPARQL in fenced blocks.
    """

    WRITES: ClassVar[bool] = False
    """Whether texts are compared by the triples that they write, instead of rows."""
    sheet: ClassVar[type[questions.QuestionSheet]] = questions.QuestionSheet
    vocabulary: ClassVar[Vocabulary] = Vocabulary(questions.PREFIXES)

    check = staticmethod(generator.check_instances)
    prepare = staticmethod(prepare)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a question, which differs from those before it."""
        world = generator.world_of(task, seed)
        question = questions.sheet(world, task.parameters["level"], self.sheet)[number]
        return {
            "graphName": world.name,
            "question": question.words,
            "refSparql": question.query,
            **({} if self.WRITES else {"ordered": question.ordered}),
            "features": list(question.features),
        }

    def prompt(self, case: Case) -> str:
        """Return the prompt: the question, with the schema of its world.

        Raises :class:`~kgbench.errors.TaskError` if the world is of another version of the
        generator.
        """
        world = generator.world_of_name(case.data["graphName"])
        if world is None:
            raise TaskError(
                f"the case {case.iri} is about a world of another version of the generator than "
                f"{generator.VERSION}, so nothing can be asked about it"
            )
        schema = graphs.world_schema(world, **self.vocabulary.prefixes)
        return self.text("prompt", question=case.data["question"], schema=schema)

    def reference(self, case: Case) -> str:
        """Return the reference text in a fenced block."""
        return queries.fenced_query(case)

    def graph_name(self, case: Case) -> str:
        """Return the name of the world that ``case`` is about."""
        return str(case.data["graphName"])


def judge_query(
    case: Case, answers: Sequence[str], executor: Executor, module: TaskModule
) -> Verdict:
    """Compare the result of the last answer's query; ask again without a query or a result."""
    verdict = typed_answers.parsed_and_judged(policy(POLICY), case, answers, executor, module)
    if len(answers) >= queries.ROUNDS or verdict.infos.get("resultLength"):
        return verdict
    if verdict.outcome in {Outcome.UNPARSABLE, Outcome.EMPTY}:
        feedback = queries.syntax_feedback(verdict.infos["sparql"], verdict.infos["parseError"])
    else:
        feedback = queries.empty_feedback()
    return replace(verdict, next_prompt=feedback[0], feedback=feedback[1])


FOLDER: Final = "world-writing"
NO_TEXT: Final = "there is no such text of SPARQL in a fenced block of the answer"


class WritingFamily(SparqlFamily):
    """A family of exercises that are answered with a text of SPARQL that writes triples."""

    WRITES = True
    vocabulary = Vocabulary(PREFIXES)
    word: ClassVar[re.Pattern[str]]
    """What occurs in each text of the requested kind."""
    update: ClassVar[bool] = False
    """Whether texts are updates."""

    def query(self, answer: str) -> str | None:
        """Return the text in an answer: the first fenced block with the word, trimmed."""
        blocks = (block.body.strip() for block in fenced_blocks(answer))
        return next((body for body in blocks if self.word.search(body)), None)

    def counts(self, surplus: Collection[Row]) -> Mapping[str, float]:
        """Return further scores: numbers of wrong changes (:meth:`kgbench.model.Executor.changes`).

        If one is not 0, the text ``feedback-surplus`` says so.
        """
        return {}

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the changes of the last answer's text with those of the reference.

        The model is asked again if the text does not parse, cannot be executed, writes nothing, or
        makes wrong changes that are counted. Raises :class:`~kgbench.errors.EvaluationError` if the
        reference cannot be executed.
        """
        answer = answers[-1]
        text = self.query(answer)
        error = NO_TEXT if text is None else executor.check(text, PREFIXES, update=self.update)
        infos: dict[str, Json] = {"testUid": case.uid, "sparql": text}
        if text is None or error is not None:
            names = ("answerParse", "precision", "recall", "f1", "exact", *self.counts(()))
            scores = dict.fromkeys(names, 0.0)
            infos["parseError"] = error
            outcome = frame.outcome(answer, usable=False)
            feedback: Feedback | None = _unreadable(text, error)
        else:
            expected, result = self._changes(case, text, executor)
            compared = compare_rows(expected.rows, result.rows)
            exact = float(not compared.missing and not compared.surplus)
            counts = self.counts(compared.surplus)
            scores = {"answerParse": 1.0, **compared.agreement.named(), "exact": exact, **counts}
            infos |= _infos(expected, result, compared)
            outcome = Outcome.TIMEOUT if result.expired else Outcome.SCORED
            feedback = self._complaint(text, result, counts)
        if feedback is None or len(answers) >= queries.ROUNDS:
            return Verdict(scores, infos, outcome)
        return Verdict(scores, infos, outcome, *feedback)

    def _changes(
        self, case: Case, text: str, executor: Executor
    ) -> tuple[QueryResult, QueryResult]:
        """Return the changes of the reference and of a text."""
        world = graphs.text(self.graph_name(case))
        expected = executor.changes(case.data["refSparql"], world, PREFIXES)
        if expected.error is not None:
            raise EvaluationError(
                f"the reference of the case {case.iri} cannot be executed: {expected.error}"
            )
        return expected, executor.changes(text, world, PREFIXES)

    def _complaint(
        self, text: str, result: QueryResult, counts: Mapping[str, float]
    ) -> Feedback | None:
        """Return the feedback on a text that was executed, or ``None``."""
        if result.error is not None:
            return _shared("error", "content", message=result.error[:LONGEST], text=text)
        if not result.rows:
            return _shared("nothing", "empty-result")
        if not any(counts.values()):
            return None
        shown = {name: f"{count:.0f}" for name, count in counts.items()}
        return Feedback(self.text("feedback-surplus", **shown), "content")


def _unreadable(text: str | None, error: str | None) -> Feedback:
    if text is None or error is None:
        return _shared("no-text", "syntax")
    return _shared("syntax", "syntax", message=error[:LONGEST], text=text)


def _shared(name: str, kind: str, **values: str) -> Feedback:
    return Feedback(texts.shared_filled(FOLDER, f"feedback-{name}.txt", **values), kind)


def _infos(
    expected: QueryResult, result: QueryResult, compared: RowComparison
) -> Mapping[str, Json]:
    infos: dict[str, Json] = {
        "written": len(result.rows),
        "expected": len(expected.rows),
        "missing": listed(compared.missing),
        "surplus": listed(compared.surplus),
    }
    if result.error is not None:
        infos["executionError"] = result.error[:LONGEST]
    if result.refused:
        infos["refused"] = True
    return infos
