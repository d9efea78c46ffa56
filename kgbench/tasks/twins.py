# SPDX-License-Identifier: Apache-2.0
"""Generated twins of published cases: the same prompts and judges, other names.

One object for each task class (see :class:`kgbench.model.TaskModule`). A twin has the name
(``uid``) of its case, so that both can be compared as a pair. The cases of a plan go through all
published ones, then through all of them again under further names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from kgbench.model import Case, Json, Task
from kgbench.on_demand import OnDemand
from kgbench.tasks import answer_list, catalogue, renaming, texts
from kgbench.tasks.answer_list import AnswerList
from kgbench.tasks.renaming import Source
from kgbench.tasks.sparql_dialogue import Vocabulary
from kgbench.tasks.text_to_sparql import QueryTask

_PREFIXES: Final = {"organisation": ("", "foaf", "org", "vcard"), "economy": ("", "eco")}


@cache
def source(name: str) -> Source:
    """The published cases about the graph called ``name``."""
    questions = texts.shared_structure(name, "questions.json")
    return Source(name, texts.shared(name, "graph.ttl"), questions, _PREFIXES[name])


@lru_cache(maxsize=4)
def twins(name: str, names: str, seed: int, lap: int) -> Sequence[Mapping[str, Json]]:
    """The data of twins of all cases about a graph, in their order.

    ``names`` is ``natural`` or ``opaque``; each ``lap`` through the cases has other names.
    """
    return renaming.RENAMINGS[names](source(name), seed, lap)


def _case(task: Task, suite: str, seed: int, iteration: int, graph: str) -> Case:
    """The twin at a place among those of the cases about a graph."""
    lap, place = divmod(iteration, len(source(graph).questions))
    data = dict(twins(graph, task.parameters["names"], seed, lap)[place])
    if "graphFormat" in task.parameters:
        data["graphFormat"] = task.parameters["graphFormat"]
    return catalogue.make_case(suite, task.task_class, task.parameters, data, uid=data["uid"])


class TwinQueries(QueryTask):
    """Questions about renamed graphs, answered with a query."""

    def __init__(self, name: str, vocabulary: Vocabulary) -> None:
        super().__init__(name, vocabulary, lambda _: ())

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the questions about the graph that ``task`` names."""
        graph = task.parameters["graph"]
        return OnDemand(count, lambda place: _case(task, suite, seed, place, graph))


class TwinAnswers(AnswerList):
    """Questions or queries about the renamed organisational graph, answered with values."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the questions about the organisational graph, in the format of ``task``."""
        return OnDemand(count, lambda place: _case(task, suite, seed, place, "organisation"))


QUERIES = TwinQueries("Text2SparqlTwin", Vocabulary())
SPARQL_TO_ANSWER = TwinAnswers("Sparql2AnswerTwin", "refSparql", answer_list.SPARQL_TO_ANSWER.NAME)
TEXT_TO_ANSWER = TwinAnswers("Text2AnswerTwin", "question", answer_list.TEXT_TO_ANSWER.NAME)
