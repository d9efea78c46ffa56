# SPDX-License-Identifier: Apache-2.0
"""TurtleSampleGeneration: generate a graph of persons who know each other.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.3. ``task.ttl`` decides
the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import RDF, Case, Executor, Json, ListedFamily, Verdict, outcome
from kgbench.families import tolerant_parsing
from kgbench.scoring.agreement import agreement_of_error, terms
from kgbench.vocab import FOAF

_FEWEST: Final = 2  # persons that each person has to know
_TYPE, _PERSON, _KNOWS = f"<{RDF.type}>", f"<{FOAF.Person}>", f"<{FOAF.knows}>"


class TurtleSampleGeneration(ListedFamily):
    """Requests for graphs with a number of persons."""

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the only case: the number of persons in the parameters."""
        return [{"graphFormat": "turtle", "n": parameters["size"]}]

    def prompt(self, case: Case) -> str:
        """Return the request for a graph with the number of persons of ``case``."""
        n: int = case.data["n"]
        return self.text("prompt", persons=str(n), fewest=str(_FEWEST), most=str(n - 1))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
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
        return Verdict(scores, infos, outcome(answer, usable=bool(repaired.triples)))

    def reference(self, case: Case) -> str:
        """Return a ring of persons, each of whom knows the next two."""
        n: int = case.data["n"]
        lines = ["@prefix : <http://example.org/people/> .", f"@prefix foaf: <{FOAF}> .", ""]
        for k in range(n):
            friends = " , ".join(f":p{(k + step) % n}" for step in range(1, _FEWEST + 1))
            lines.append(f":p{k} a foaf:Person ; foaf:knows {friends} .")
        return "\n".join(lines)


family: Final = TurtleSampleGeneration(__file__)
