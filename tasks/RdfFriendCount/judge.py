# SPDX-License-Identifier: Apache-2.0
"""RdfFriendCount: name the node with the most incoming edges of a generated graph.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.4; Meyer et al.,
LLM-KG-Bench 3.0, ESWC 2025. ``task.ttl`` decides the points that they leave open.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from kgbench.errors import TaskError
from kgbench.families import frame
from kgbench.families.frame import DrawnFamily
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.scoring.agreement import harmonic
from kgbench.scoring.brevity import by_length
from kgbench.tasks import serialising

from .cases import PEOPLE, shuffled, turtle_length

_PERSON: Final = re.compile(r"person-0*(\w+)")


class RdfFriendCount(DrawnFamily):
    """Graphs of persons, in which one person is known by more than all others."""

    NEEDED = ("specialNodeIri", "specialFriends", "n")  # a published case may be cut short

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return ``count`` cases of a task, if its size allows any."""
        self.check(task)
        return super().cases(task, suite, seed, count)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a graph, with the special person and those who mislead."""
        source = hashlib.sha256(f"{seed}/{task.label}/{number}".encode()).digest()
        graph_format = task.parameters["graphFormat"]
        graph = shuffled(
            self._person_count(task),
            task.parameters["knowsCount"],
            task.parameters["specialIndex"],
            task.parameters["specialAddKnowsCount"],
            Random(source),  # noqa: S311 - reproducible, not secret
        )
        return {
            "n": graph.persons,
            "knowsCount": graph.knows,
            "specialIndex": graph.special,
            "specialAddKnowsCount": graph.additional,
            "specialNodeIri": graph.special_iri,
            "specialFriends": graph.special_friends,
            "graphFormat": graph_format,
            "graph": graph.written(graph_format),
        }

    def check(self, task: Task) -> None:
        """Check that the smallest graph with the other parameters fits into the size."""
        self._person_count(task)

    def _person_count(self, task: Task) -> int:
        """Return the greatest number of persons whose Turtle prompt fits into the size of ``task``.

        Raises :class:`~kgbench.errors.TaskError` if even the smallest possible graph does not fit.
        """
        knows, additional, size = (
            task.parameters[name] for name in ("knowsCount", "specialAddKnowsCount", "size")
        )
        fewest = knows + additional + 1
        question = len(self._question("turtle", ""))
        least = question + turtle_length(fewest, knows, additional)
        if size < least:
            raise TaskError(
                f"task {task.label}: a graph with knowsCount {knows} and specialAddKnowsCount "
                f"{additional} needs a size of at least {least} characters, but size is {size}"
            )
        # All names have the same length, so each further person adds as many characters.
        step = turtle_length(fewest + 1, knows, additional) + question - least
        return int(fewest + (size - least) // step)

    def prompt(self, case: Case) -> str:
        """Return the question with the graph of ``case``.

        Raises :class:`~kgbench.errors.TaskError` if the case has no graph.
        """
        if "graph" not in case.data:
            raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
        return self._question(case.data["graphFormat"], case.data["graph"])

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Score the persons that the answer names."""
        answer = answers[-1]
        special: str = case.data["specialNodeIri"]
        friends: list[str] = case.data["specialFriends"]
        named: list[str] = _PERSON.findall(answer)
        recall = float(special.removeprefix(PEOPLE) in answer)
        precision = recall / len(named) if named else 0.0
        misled = sum(friend in answer for friend in friends)
        scores = {
            "recall": recall,
            "precision": precision,
            "f1": harmonic(precision, recall),
            "exact": float(precision == 1),
            "noSpecialFriends": 1 - misled / len(friends) if friends else 1.0,
            "brevity": by_length(len(special) + len("<>"), answer),
        }
        infos = {
            "persons": case.data["n"],
            "specialNode": special,
            "answerPersonCount": len(named),
            "specialFriendsInAnswer": misled,
            "personsInAnswer": named,
        }
        return Verdict(scores, infos, frame.outcome(answer, usable=bool(named)))

    def guess(self, case: Case, chance: Random) -> str:
        """Return one of the persons at random."""
        persons = {match.group() for match in _PERSON.finditer(case.data["graph"])}
        return PEOPLE + chance.choice(sorted(persons))

    def chance_level(self, case: Case) -> float:
        """Return the mean of the main metric over guesses: one person is right."""
        return 1 / float(case.data["n"])

    def reference(self, case: Case) -> str:
        """Return the IRI of the person whom most others know."""
        return str(case.data["specialNodeIri"])

    def _question(self, graph_format: str, graph: str) -> str:
        title = serialising.TITLES[serialising.canonical_format(graph_format)]
        return self.text("prompt", format=title, graph=graph)


family: Final = RdfFriendCount(__file__)
