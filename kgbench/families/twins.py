# SPDX-License-Identifier: Apache-2.0
"""Families with the prompts and the judge of another: classes of 2023, and twins of cases.

Twins have other names in the data. A twin has the ``uid`` of its case, so that both can be compared
as a pair. The cases of a plan are twins of all published cases, then twins of all of them again
with further names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Final

from kgbench.families.frame import DrawnFamily, Family
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.on_demand import OnDemand
from kgbench.tasks import catalogue, renaming, texts
from kgbench.tasks.renaming import Source


class DelegatingFamily(Family):
    """A family with the prompts and the judge of the family ``JUDGED_AS``."""

    JUDGED_AS: ClassVar[str]

    def __init__(self, judge: str) -> None:
        super().__init__(judge)
        self.NEEDED = self.other.NEEDED

    @property
    def other(self) -> Any:
        """The other family."""
        return catalogue.module(self.JUDGED_AS)

    def uid(self, data: Mapping[str, Json]) -> str | None:
        """Return the name of the case with ``data``, as the other family does."""
        uid: str | None = self.other.uid(data)
        return uid

    def prompt(self, case: Case) -> str:
        """Return the prompt of the other family."""
        return str(self.other.prompt(case))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge as the other family does."""
        verdict: Verdict = self.other.judge(case, answers, executor)
        return verdict

    def reference(self, case: Case) -> str:
        """Return the reference answer of the other family."""
        return str(self.other.reference(case))


class FirstGeneration(DelegatingFamily):
    """A family of 2023 that the other one replaced, which has more formats than Turtle.

    It serves to judge results published in 2023 again. New runs use the other family.
    """

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return the cases of the other family in Turtle."""
        others: Sequence[Case] = self.other.cases(self._newer(task), suite, seed, count)
        return [self.case(task, suite, case.data) for case in others]

    def check(self, task: Task) -> None:
        """Check ``task`` as the other family does."""
        catalogue.check(self._newer(task))

    def _newer(self, task: Task) -> Task:
        parameters = {**task.parameters, "graphFormat": "turtle"}
        return catalogue.make_task(self.JUDGED_AS, task.label, parameters)


_PREFIXES: Final = {"organisation": ("", "foaf", "org", "vcard"), "economy": ("", "eco")}
_ASKED: Final = ("uid", "question", "refSparql", "refResultSet", "lsqFeatures")
_ALL: Final = 1_000  # more than there are published cases


class TwinFamily(DrawnFamily):
    """A family of twins of the cases of a source."""

    def source(self, task: Task) -> Source:
        """Return the originals, by default the questions about the organisational graph."""
        return questions("organisation")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Return the twin with a number, in the format of ``task`` if it has that parameter."""
        source, parameters = self.source(task), task.parameters
        lap, index = divmod(number, len(source.cases))
        data = dict(_renamed(source, parameters["names"], seed, lap)[index])
        if "graphFormat" in parameters:
            data["graphFormat"] = parameters["graphFormat"]
        return data


class TwinDocuments(DelegatingFamily):
    """A family of renamed documents; ``kinds`` is the key of their kinds of names."""

    kinds: ClassVar[str] = "organisation"

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return twins of the published documents.

        They are in the format of ``task`` if it has that parameter.
        """
        parameters = {key: value for key, value in task.parameters.items() if key != "names"}
        published = catalogue.make_task(self.JUDGED_AS, task.label, parameters)
        originals: Sequence[Case] = self.other.cases(published, suite, seed, _ALL)

        def made(number: int) -> Case:
            lap, index = divmod(number, len(originals))
            original = originals[index].data
            document = Source(self.kinds, original["optimal"], [original])
            return self.case(task, suite, renaming.natural(document, seed, lap)[0])

        return OnDemand(count, made)


@cache
def questions(graph: str) -> Source:
    """Return the published questions about the graph with a name."""
    return source(graph, texts.shared_structure(graph, "questions.json"), _ASKED)


def source(graph: str, cases: Iterable[Mapping[str, Json]], keys: Iterable[str]) -> Source:
    """Return the data of cases with some ``keys`` about the graph with a name as originals."""
    text = texts.shared(graph, "graph.ttl")
    originals = [{**{key: case[key] for key in keys}, "graphTurtle": text} for case in cases]
    return Source(graph, text, originals, _PREFIXES[graph])


@lru_cache(maxsize=8)
def _renamed(source: Source, names: str, seed: int, lap: int) -> Sequence[Mapping[str, Json]]:
    """Return the data of twins of all cases of a source, with ``natural`` or ``opaque`` names.

    Each ``lap`` through the cases has other names.
    """
    return renaming.RENAMINGS[names](source, seed, lap)
