# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlWorld: questions about a generated world, answered with a query.

World and questions are generated from the seed of the plan (:mod:`kgbench.worlds`). Results are
compared under the policy ``rows``; the model is asked again if a query does not parse or finds
nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, cast

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, Task, TaskModule, Verdict
from kgbench.policies.compare import Reference, compare
from kgbench.policies.policy import policy
from kgbench.tasks import catalogue, graphs, sparql_dialogue, texts, typed_answers
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import world_of

NAME: Final = "Text2SparqlWorld"
POLICY: Final = "rows"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ``prefixes`` that SPARQL texts about any world may use undeclared."""

    prefixes: Mapping[str, str]

    def of(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """Return the prefixes by name."""
        return self.prefixes

    for_queries = of


vocabulary: Final = Vocabulary(questions.PREFIXES)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different questions about the seed's world.

    If the world is too small for so many, accessing the first surplus case raises
    :class:`~kgbench.errors.TaskError`.
    """
    world = world_of(task, seed)
    # Built for the first case of the task, so that other tasks need not wait for it.
    sheet = cache(lambda: questions.sheet(world, task.parameters["level"]))

    def data(iteration: int) -> Mapping[str, Json]:
        question = sheet()[iteration]
        return {
            "graphName": world.name,
            "question": question.words,
            "refSparql": question.query,
            "ordered": question.ordered,
            "features": list(question.features),
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case, **prefixes: str) -> str:
    """Return the prompt: the question, with the schema of its world and further ``prefixes``.

    Raises :class:`~kgbench.errors.TaskError` if the world is of another version of the generator.
    """
    world = generator.world_of_name(case.data["graphName"])
    if world is None:
        raise TaskError(
            f"the case {case.iri} is about a world of another version of the generator than "
            f"{generator.VERSION}, so nothing can be asked about it"
        )
    values = {"question": case.data["question"], "schema": graphs.world_schema(world, **prefixes)}
    return texts.filled(case.task_class, "prompt.txt", **values)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the result of the last answer's query; ask again without a query or a result."""
    this_module = cast("TaskModule", sys.modules[__name__])
    verdict = typed_answers.parsed_and_judged(policy(POLICY), case, answers, executor, this_module)
    if len(answers) >= sparql_dialogue.ROUNDS:
        return verdict
    if verdict.outcome in {Outcome.UNPARSABLE, Outcome.EMPTY}:
        error = None if verdict.infos["sparql"] is None else verdict.infos["parseError"]
        feedback = sparql_dialogue.syntax_feedback(verdict.infos["sparql"], error)
    elif not verdict.infos["resultLength"]:
        feedback = sparql_dialogue.empty_feedback()
    else:
        return verdict
    return replace(verdict, next_prompt=feedback[0], feedback=feedback[1])


check = generator.check_instances
query = sparql_dialogue.extract_any_query
reference = sparql_dialogue.reference


def graph_name(case: Case) -> str:
    """Return the name of the world that ``case`` is about."""
    return str(case.data["graphName"])


def needs_recorded_results(case: Case) -> bool:  # noqa: ARG001 - none does
    """Return ``False``: worlds are generated, so queries can be executed."""
    return False


def prepare() -> None:
    """Load files and libraries for judging processes, which cannot open files."""
    graphs.prepare()
    rows = QueryResult(("a", "b"), (("<urn:a>", "<urn:b>"), ("<urn:b>", "<urn:a>")))
    compare(policy(POLICY), Reference(rows, ordered=True), rows)  # imports lazily loaded modules
