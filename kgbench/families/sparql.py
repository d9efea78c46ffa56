# SPDX-License-Identifier: Apache-2.0
"""The frame of families whose answers are SPARQL texts about a world, and the judge of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kgbench.errors import TaskError
from kgbench.families import queries
from kgbench.families.frame import DrawnFamily
from kgbench.model import Case, Executor, Json, Outcome, Task, TaskModule, Verdict
from kgbench.policies.policy import policy
from kgbench.tasks import graphs, typed_answers
from kgbench.worlds import generator, questions

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
