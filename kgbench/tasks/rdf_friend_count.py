# SPDX-License-Identifier: Apache-2.0
"""RdfFriendCount: name the node with the most incoming edges of a generated graph.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.4; Meyer et al.,
LLM-KG-Bench 3.0, ESWC 2025. ``task.ttl`` decides the points that they leave open.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from random import Random

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Outcome, Task, Verdict
from kgbench.on_demand import OnDemand
from kgbench.scoring.agreement import harmonic
from kgbench.scoring.brevity import by_length
from kgbench.tasks import catalogue, formats, texts
from kgbench.tasks.friend_graph import PEOPLE, FriendGraph, shuffled, turtle_length

NAME = "RdfFriendCount"
NEEDED = ("specialNodeIri", "specialFriends", "n")  # a published case may be cut short

_PERSON = re.compile(r"person-0*(\w+)")


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Return ``count`` generated cases, one for each iteration, the same for every model.

    Cases are generated lazily, so that many of them need no memory.
    """
    persons = person_count(task)

    def generated(iteration: int) -> Case:
        source = hashlib.sha256(f"{seed}/{task.label}/{iteration}".encode()).digest()
        graph = shuffled(
            persons,
            task.parameters["knowsCount"],
            task.parameters["specialIndex"],
            task.parameters["specialAddKnowsCount"],
            Random(source),  # noqa: S311 - reproducible, not secret
        )
        return _case(task, suite, graph)

    return OnDemand(count, generated)


def check(task: Task) -> None:
    """Check that the smallest graph with the other parameters fits into the size of ``task``."""
    person_count(task)


def person_count(task: Task) -> int:
    """Return the greatest number of persons whose Turtle prompt fits into the size of ``task``.

    Raises :class:`~kgbench.errors.TaskError` if even the smallest possible graph does not fit.
    """
    knows, additional, size = (
        task.parameters[name] for name in ("knowsCount", "specialAddKnowsCount", "size")
    )
    fewest = knows + additional + 1
    question = len(_question("turtle", ""))
    least = question + turtle_length(fewest, knows, additional)
    if size < least:
        raise TaskError(
            f"task {task.label}: a graph with knowsCount {knows} and specialAddKnowsCount "
            f"{additional} needs a size of at least {least} characters, but size is {size}"
        )
    # All names have the same length, so each further person adds the same number of characters.
    step = turtle_length(fewest + 1, knows, additional) - turtle_length(fewest, knows, additional)
    return int(fewest + (size - least) // step)


def prompt(case: Case) -> str:
    """Return the question with the graph of ``case`` as a prompt.

    Raises :class:`~kgbench.errors.TaskError` if the case has no graph.
    """
    if "graph" not in case.data:
        raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
    return _question(case.data["graphFormat"], case.data["graph"])


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no parsing
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
    return Verdict(scores, infos, _outcome(answer, named))


def guess(case: Case, chance: Random) -> str:
    """Return one of the persons at random."""
    persons = {match.group() for match in _PERSON.finditer(case.data["graph"])}
    return PEOPLE + chance.choice(sorted(persons))


def chance_level(case: Case) -> float:
    """Return the mean of the main metric over guesses: one person is right."""
    return 1 / float(case.data["n"])


def reference(case: Case) -> str:
    """Return the reference answer: the IRI of the person whom most others know."""
    return str(case.data["specialNodeIri"])


def _case(task: Task, suite: str, graph: FriendGraph) -> Case:
    graph_format = task.parameters["graphFormat"]
    data = {
        "n": graph.persons,
        "knowsCount": graph.knows,
        "specialIndex": graph.special,
        "specialAddKnowsCount": graph.additional,
        "specialNodeIri": graph.special_iri,
        "specialFriends": graph.special_friends,
        "graphFormat": graph_format,
        "graph": graph.written(graph_format),
    }
    return catalogue.make_case(suite, NAME, task.parameters, data)


def _question(graph_format: str, graph: str) -> str:
    title = formats.TITLES[formats.canonical_format(graph_format)]
    return texts.filled(NAME, "prompt.txt", format=title, graph=graph)


def _outcome(answer: str, named: Sequence[str]) -> Outcome:
    if not answer.strip():
        return Outcome.EMPTY
    return Outcome.SCORED if named else Outcome.UNPARSABLE
