# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlWorld: questions about a generated world, answered with a query.

World and questions follow from the seed of the plan (:mod:`kgbench.worlds`). Results are compared
under the policy ``rows``; a query that does not parse or finds nothing is asked for again.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, cast

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, Task, TaskModule, Verdict
from kgbench.policies.compare import Reference, compare
from kgbench.policies.policy import policy
from kgbench.tasks import catalogue, serialising, sparql_dialogue, texts, typed_answers
from kgbench.vocab import OWL
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import World
from kgbench.worlds.model import declared

NAME: Final = "Text2SparqlWorld"
POLICY: Final = "rows"
_SEED: Final = 16  # hex digits


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ``prefixes`` that texts of SPARQL about every world may use undeclared."""

    prefixes: Mapping[str, str]

    def of(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """The prefixes by name."""
        return self.prefixes

    for_queries = of


vocabulary: Final = Vocabulary(questions.PREFIXES)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` different questions about the world of a seed.

    Raises :class:`~kgbench.errors.TaskError` where the world is too small for so many, once the
    first that is too much is asked for.
    """
    chosen = task.parameters
    world = world_of(task, seed)
    sheet = questions.sheet(world, chosen["level"])

    def data(iteration: int) -> Mapping[str, Json]:
        question = sheet.question(iteration)
        return {
            "graphName": world.name,
            "question": question.words,
            "refSparql": question.query,
            "ordered": question.ordered,
            "features": list(question.features),
        }

    return catalogue.generated(task, suite, count, data)


def world_of(task: Task, seed: int) -> World:
    """The world of the seed of a plan, with the size and the names that a task asks for."""
    source = hashlib.sha256(str(seed).encode()).hexdigest()[:_SEED]
    return World(source, task.parameters["instances"], task.parameters["names"])


def check(task: Task) -> None:
    """Refuse a world that is too small for every class to have instances."""
    chosen = task.parameters
    generator.made(World("", chosen["instances"], chosen["names"]))


def prompt(case: Case, **prefixes: str) -> str:
    """What is asked, with the schema of its world, which declares further ``prefixes``, too.

    Raises :class:`~kgbench.errors.TaskError` where the world cannot be made any more.
    """
    world = generator.named(case.data["graphName"])
    if world is None:
        raise TaskError(
            f"the case {case.iri} is about a world of another version of the generator than "
            f"{generator.VERSION}, so nothing can be asked about it"
        )
    asked = {"question": case.data["question"], "schema": schema(world, **prefixes)}
    return texts.filled(case.task_class, "prompt.txt", **asked)


@lru_cache(maxsize=4)
def schema(world: World, **prefixes: str) -> str:
    """The schema of a world in Turtle, which declares further ``prefixes``, too."""
    lines = "\n".join(generator.schema(generator.made(world)))
    triples = [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]
    known = {**questions.PREFIXES, **prefixes, "owl": str(OWL)}
    return serialising.serialise(triples, "turtle", known)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the result of the last answer's query; ask again where there is none, or no row."""
    this = cast("TaskModule", sys.modules[__name__])
    verdict = typed_answers.parsed_and_judged(policy(POLICY), case, answers, executor, this)
    if len(answers) >= sparql_dialogue.ROUNDS:
        return verdict
    if verdict.outcome in {Outcome.UNPARSABLE, Outcome.EMPTY}:
        error = None if verdict.infos["sparql"] is None else verdict.infos["parseError"]
        said = sparql_dialogue.syntax_feedback(verdict.infos["sparql"], error)
    elif not verdict.infos["resultLength"]:
        said = sparql_dialogue.empty_feedback()
    else:
        return verdict
    return replace(verdict, next_prompt=said[0], feedback=said[1])


query = sparql_dialogue.selected
reference = sparql_dialogue.reference


def graph_name(case: Case) -> str:
    """The name of the world that ``case`` is about."""
    return str(case.data["graphName"])


def needs_recorded_results(case: Case) -> bool:  # noqa: ARG001 - none does
    """Whether only recorded results say what queries find: worlds are made again."""
    return False


def prepare() -> None:
    """Read what judging needs, for a process that cannot do so later."""
    sparql_dialogue.prepare()
    declared()
    rows = QueryResult(("a", "b"), (("<urn:a>", "<urn:b>"), ("<urn:b>", "<urn:a>")))
    compare(policy(POLICY), Reference(rows, ordered=True), rows)  # imports what comparing needs
