# SPDX-License-Identifier: Apache-2.0
"""Generated twins of published cases: the same prompts and judges with other names in the data.

There is one object for each task class (see :class:`kgbench.model.TaskModule`). A twin has the
``uid`` of its case, so that both can be compared as a pair. The cases of a plan are twins of all
published cases, then twins of all of them again with further names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Final

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.on_demand import OnDemand
from kgbench.tasks import (
    answer_list,
    bestiary_twins,
    catalogue,
    fact_extract,
    organisation,
    own_cases,
    rdf_connection_explain,
    rdf_syntax_fix,
    renaming,
    texts,
    turtle_errors,
)
from kgbench.tasks.answer_list import AnswerList
from kgbench.tasks.renaming import Source
from kgbench.tasks.sparql_dialogue import Vocabulary
from kgbench.tasks.text_to_sparql import SYNTAX_FIXING, QueryFixTask, QueryTask

_PREFIXES: Final = {"organisation": ("", "foaf", "org", "vcard"), "economy": ("", "eco")}
_ASKED: Final = ("uid", "question", "refSparql", "refResultSet", "lsqFeatures")
_FAULTY: Final = ("uid", "refSparql", "refResultSet", "testSparql", "errorMessage")


@cache
def questions(name: str) -> Source:
    """Return the published questions about the graph called ``name``."""
    published = texts.shared_structure(name, "questions.json")
    return _source(name, [{key: question[key] for key in _ASKED} for question in published])


@cache
def faulty_queries() -> Source:
    """Return the published faulty queries, which are about the economic graph."""
    return _source("economy", [{k: d[k] for k in _FAULTY} for d in own_cases.faulty_queries({})])


@cache
def connection() -> Source:
    """Return the published path through the organisational graph, and the persons at its ends."""
    path = {"path": list(rdf_connection_explain.PATH), "ends": list(rdf_connection_explain.ENDS)}
    return _source("organisation", [{"uid": "organisation", **path}])


def _source(name: str, cases: Sequence[Mapping[str, Json]]) -> Source:
    graph = texts.shared(name, "graph.ttl")
    return Source(name, graph, [{**case, "graphTurtle": graph} for case in cases], _PREFIXES[name])


@lru_cache(maxsize=8)
def twins(key: str, names: str, seed: int, lap: int) -> Sequence[Mapping[str, Json]]:
    """Return the data of twins of all cases of a source, in their order.

    ``names`` is ``natural`` or ``opaque``; each ``lap`` through the cases has other names.
    """
    if key == bestiary_twins.NAME:
        return bestiary_twins.twins(names, seed, lap)
    return renaming.RENAMINGS[names](source(key), seed, lap)


def source(key: str) -> Source:
    """Return the originals of twins, by the name of their graph or the kind of cases."""
    return _SOURCES[key]() if key in _SOURCES else questions(key)


_SOURCES: Final = {"faulty-queries": faulty_queries, "connection": connection}


def _number(key: str) -> int:
    """Return the number of originals."""
    if key == bestiary_twins.NAME:
        return len(own_cases.bestiary_cases(bestiary_twins.SHOWN))
    return len(source(key).cases)


def _cases(task: Task, suite: str, seed: int, count: int, key: str) -> Sequence[Case]:
    """Return ``count`` twins of the cases of a source."""
    number, parameters = _number(key), task.parameters

    def make(iteration: int) -> Case:
        lap, index = divmod(iteration, number)
        data = dict(twins(key, parameters["names"], seed, lap)[index])
        if "graphFormat" in parameters:
            data["graphFormat"] = parameters["graphFormat"]
        return catalogue.make_case(suite, task.task_class, parameters, data, uid=data["uid"])

    return OnDemand(count, make)


class TwinQueries(QueryTask):
    """The task class of questions about renamed graphs, answered with a query."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return twins of the questions about the graph in the parameters of ``task``."""
        return _cases(task, suite, seed, count, task.parameters["graph"])


class TwinFaults(QueryFixTask):
    """The task class of renamed faulty queries, to be corrected."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return twins of the faulty queries."""
        return _cases(task, suite, seed, count, "faulty-queries")


class TwinAnswers(AnswerList):
    """A task class about the renamed organisational graph, answered with values."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return twins of questions about the organisational graph, in the format of ``task``."""
        return _cases(task, suite, seed, count, "organisation")


class DelegatingClass:
    """A task class with the prompts and the judge of the ``published`` class."""

    def __init__(self, name: str, published: ModuleType) -> None:
        self.NAME = name
        self.NEEDED: Sequence[str] = getattr(published, "NEEDED", ())
        self.JUDGED_AS: str = published.NAME
        self._published = published

    def prompt(self, case: Case) -> str:
        """Return the prompt of the published class."""
        return str(self._published.prompt(case))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge as the published class does."""
        verdict: Verdict = self._published.judge(case, answers, executor)
        return verdict

    def reference(self, case: Case) -> str:
        """Return the reference answer of the published class."""
        return str(self._published.reference(case))


class TwinConnection(DelegatingClass):
    """The task class about the connection of two persons in the renamed organisational graph."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return twins of the only case, in the format of ``task``."""
        parameters = task.parameters

        def make(iteration: int) -> Case:
            data = dict(twins("connection", parameters["names"], seed, iteration)[0])
            graph = organisation.in_format(data.pop("graphTurtle"), parameters["graphFormat"])
            data |= {"graphFormat": parameters["graphFormat"], "graph": graph}
            return catalogue.make_case(suite, self.NAME, parameters, data, uid=data["uid"])

        return OnDemand(count, make)


class TwinDocuments(DelegatingClass):
    """A task class of renamed documents; ``names_key`` is the key of their kinds of names."""

    def __init__(self, name: str, published: ModuleType, names_key: str) -> None:
        super().__init__(name, published)
        self._names_key = names_key

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return twins of the published documents.

        They are in the format of ``task`` if it has that parameter.
        """
        parameters = {key: value for key, value in task.parameters.items() if key != "names"}
        published_task = catalogue.make_task(self.JUDGED_AS, task.label, parameters)
        originals: Sequence[Case] = self._published.cases(published_task, suite, seed, _ALL)

        def make(iteration: int) -> Case:
            lap, index = divmod(iteration, len(originals))
            original = originals[index]
            document = Source(self._names_key, original.data["optimal"], [original.data])
            data = renaming.natural(document, seed, lap)[0]
            return catalogue.make_case(suite, self.NAME, task.parameters, data, uid=original.uid)

        return OnDemand(count, make)


_ALL: Final = 1_000  # more than there are published cases

QUERIES = TwinQueries("Text2SparqlTwin", Vocabulary(), lambda _: ())
FAULTS = TwinFaults("SparqlSyntaxTwin", Vocabulary(), lambda _: (), frame=SYNTAX_FIXING.NAME)
SPARQL_TO_ANSWER = TwinAnswers("Sparql2AnswerTwin", "refSparql", answer_list.SPARQL_TO_ANSWER.NAME)
TEXT_TO_ANSWER = TwinAnswers("Text2AnswerTwin", "question", answer_list.TEXT_TO_ANSWER.NAME)
CONNECTION = TwinConnection("RdfConnectionTwin", rdf_connection_explain)
SYNTAX = TwinDocuments("RdfSyntaxTwin", rdf_syntax_fix, "organisation")
TURTLE_ERRORS = TwinDocuments("TurtleErrorsTwin", turtle_errors, "organisation")
FACTS = TwinDocuments("FactExtractTwin", fact_extract, "printer")
