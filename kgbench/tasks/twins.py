# SPDX-License-Identifier: Apache-2.0
"""Generated twins of published cases: the same prompts and judges, other names.

One object for each task class (see :class:`kgbench.model.TaskModule`). A twin has the name
(``uid``) of its case, so that both can be compared as a pair. The cases of a plan go through all
published ones, then through all of them again under further names.
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
    """The published questions about the graph called ``name``."""
    asked = texts.shared_structure(name, "questions.json")
    return _source(name, [{key: one[key] for key in _ASKED} for one in asked])


@cache
def faulty_queries() -> Source:
    """The published queries with a fault, which are about the economy."""
    return _source("economy", [{k: d[k] for k in _FAULTY} for d in own_cases.faulty_queries({})])


@cache
def connection() -> Source:
    """The published path through the organisational graph, and the persons at its ends."""
    path = {"path": list(rdf_connection_explain.PATH), "ends": list(rdf_connection_explain.ENDS)}
    return _source("organisation", [{"uid": "organisation", **path}])


def _source(name: str, cases: Sequence[Mapping[str, Json]]) -> Source:
    graph = texts.shared(name, "graph.ttl")
    return Source(name, graph, [{**case, "graphTurtle": graph} for case in cases], _PREFIXES[name])


@lru_cache(maxsize=8)
def twins(key: str, names: str, seed: int, lap: int) -> Sequence[Mapping[str, Json]]:
    """The data of twins of all cases of a source, in their order.

    ``names`` is ``natural`` or ``opaque``; each ``lap`` through the cases has other names.
    """
    if key == bestiary_twins.NAME:
        return bestiary_twins.twins(names, seed, lap)
    return renaming.RENAMINGS[names](source(key), seed, lap)


def source(key: str) -> Source:
    """The cases that a task has twins of, by the name of their graph or the kind of cases."""
    return _SOURCES[key]() if key in _SOURCES else questions(key)


_SOURCES: Final = {"faulty-queries": faulty_queries, "connection": connection}


def _number(key: str) -> int:
    """How many cases a task has twins of."""
    if key == bestiary_twins.NAME:
        return len(own_cases.bestiary_cases(bestiary_twins.SHOWN))
    return len(source(key).cases)


def _cases(task: Task, suite: str, seed: int, count: int, key: str) -> Sequence[Case]:
    """``count`` twins of the cases of a source."""
    number, chosen = _number(key), task.parameters

    def made(place: int) -> Case:
        lap, which = divmod(place, number)
        data = dict(twins(key, chosen["names"], seed, lap)[which])
        if "graphFormat" in chosen:
            data["graphFormat"] = chosen["graphFormat"]
        return catalogue.make_case(suite, task.task_class, chosen, data, uid=data["uid"])

    return OnDemand(count, made)


class TwinQueries(QueryTask):
    """Questions about renamed graphs, answered with a query."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the questions about the graph that ``task`` names."""
        return _cases(task, suite, seed, count, task.parameters["graph"])

    def prepare(self) -> None:
        """Read what judging and renamed graphs need, for a process that cannot do so later."""
        super().prepare()
        bestiary_twins.prepare()


class TwinFaults(QueryFixTask):
    """Renamed queries with a fault, to be corrected."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the faulty queries."""
        return _cases(task, suite, seed, count, "faulty-queries")


class TwinAnswers(AnswerList):
    """Questions or queries about the renamed organisational graph, answered with values."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the questions about the organisational graph, in the format of ``task``."""
        return _cases(task, suite, seed, count, "organisation")


class Delegated:
    """A task class that asks and judges as the ``published`` one does."""

    def __init__(self, name: str, published: ModuleType) -> None:
        self.NAME = name
        self.NEEDED: Sequence[str] = getattr(published, "NEEDED", ())
        self._published = published

    def prompt(self, case: Case) -> str:
        """As the published class asks."""
        return str(self._published.prompt(case))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """As the published class judges."""
        verdict: Verdict = self._published.judge(case, answers, executor)
        return verdict

    def reference(self, case: Case) -> str:
        """As the published class answers."""
        return str(self._published.reference(case))


class TwinConnection(Delegated):
    """The connection of two persons in the renamed organisational graph."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the one case, in the format of ``task``."""
        chosen = task.parameters

        def made(place: int) -> Case:
            data = dict(twins("connection", chosen["names"], seed, place)[0])
            shown = organisation.in_format(data.pop("graphTurtle"), chosen["graphFormat"])
            data |= {"graphFormat": chosen["graphFormat"], "graph": shown}
            return catalogue.make_case(suite, self.NAME, chosen, data, uid=data["uid"])

        return OnDemand(count, made)


class TwinDocuments(Delegated):
    """Renamed documents: those with faults, and a data sheet. ``about`` is what they are about."""

    def __init__(self, name: str, published: ModuleType, about: str) -> None:
        super().__init__(name, published)
        self._about = about

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Twins of the published documents, in the format of ``task`` where there are several."""
        given = {key: value for key, value in task.parameters.items() if key != "names"}
        newer = catalogue.make_task(self._published.NAME, task.label, given)
        originals: Sequence[Case] = self._published.cases(newer, suite, seed, _ALL)

        def made(place: int) -> Case:
            lap, which = divmod(place, len(originals))
            original = originals[which]
            one = Source(self._about, original.data["optimal"], [original.data])
            data = renaming.natural(one, seed, lap)[0]
            return catalogue.make_case(suite, self.NAME, task.parameters, data, uid=original.uid)

        return OnDemand(count, made)


_ALL: Final = 1_000  # more than there are published cases

QUERIES = TwinQueries("Text2SparqlTwin", Vocabulary(), lambda _: ())
FAULTS = TwinFaults("SparqlSyntaxTwin", Vocabulary(), lambda _: (), frame=SYNTAX_FIXING.NAME)
SPARQL_TO_ANSWER = TwinAnswers("Sparql2AnswerTwin", "refSparql", answer_list.SPARQL_TO_ANSWER.NAME)
TEXT_TO_ANSWER = TwinAnswers("Text2AnswerTwin", "question", answer_list.TEXT_TO_ANSWER.NAME)
CONNECTION = TwinConnection("RdfConnectionTwin", rdf_connection_explain)
SYNTAX = TwinDocuments("RdfSyntaxTwin", rdf_syntax_fix, "organisation")
TURTLE_ERRORS = TwinDocuments("TurtleErrorsTwin", turtle_errors, "organisation")
FACTS = TwinDocuments("FactExtractTwin", fact_extract, "printer")
