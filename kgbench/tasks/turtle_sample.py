# SPDX-License-Identifier: Apache-2.0
"""TurtleSampleGeneration: generate a graph of persons who know each other.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.3. ``task.ttl`` decides
the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.model import Case, Executor, Task, Verdict
from kgbench.scoring.agreement import agreement_of_error
from kgbench.scoring.ntriples import terms
from kgbench.tasks import catalogue, texts, tolerant_parsing
from kgbench.tasks.turtle_errors import outcome
from kgbench.vocab import FOAF, RDF

NAME = "TurtleSampleGeneration"

_FEWEST = 2  # persons that each person has to know
_TYPE, _PERSON, _KNOWS = f"<{RDF.type}>", f"<{FOAF.Person}>", f"<{FOAF.knows}>"


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG001 - static
    """Return the only case: the number of persons in the parameters of ``task``."""
    data = {"graphFormat": "turtle", "n": task.parameters["size"]}
    return [catalogue.make_case(suite, NAME, task.parameters, data)][:count]


def prompt(case: Case) -> str:
    """Return the prompt: the request for a graph with the number of persons of ``case``."""
    n: int = case.data["n"]
    return texts.filled(NAME, "prompt.txt", persons=str(n), fewest=str(_FEWEST), most=str(n - 1))


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Count the persons in the answer and the persons whom each of them knows."""
    answer = answers[-1]
    n: int = case.data["n"]
    repaired = tolerant_parsing.parse(answer, executor)
    triples = [terms(line) for line in repaired.triples]
    persons = {t.subject for t in triples if t.predicate == _TYPE and t.object == _PERSON}
    friends: dict[str, set[str]] = {}
    for t in triples:
        if t.predicate == _KNOWS and t.subject in persons:
            friends.setdefault(t.subject, set()).add(t.object)
    # If nobody knows anybody, both bounds count as violated, as in the published scores.
    counts = [len(friends_of_one) for friends_of_one in friends.values()] or [0, n]
    error = (len(persons) - n) / n
    scores = {
        "persons_agreement": agreement_of_error(error),
        "parsable": 1.0,
        "persons_relative_error": error,
        "min_friends_ok": float(min(counts) >= _FEWEST),
        "max_friends_ok": float(max(counts) <= n - 1),
    }
    infos = {
        "n_persons": n,
        "personsFound": len(persons),
        "removedLines": repaired.lines,
        "syntaxError": repaired.error,
    }
    return Verdict(scores, infos, outcome(answer, repaired))


def reference(case: Case) -> str:
    """Return the reference answer: a ring of persons, each of whom knows the next two."""
    n: int = case.data["n"]
    lines = ["@prefix : <http://example.org/people/> .", f"@prefix foaf: <{FOAF}> .", ""]
    for k in range(n):
        friends = " , ".join(f":p{(k + step) % n}" for step in range(1, _FEWEST + 1))
        lines.append(f":p{k} a foaf:Person ; foaf:knows {friends} .")
    return "\n".join(lines)
