# SPDX-License-Identifier: Apache-2.0
"""ClaimCheckWorld: decide whether a part of a generated world entails or contradicts a claim.

Worlds and claims are generated from the seed of the plan (:mod:`kgbench.worlds`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.tasks import catalogue, serialising, texts
from kgbench.tasks.world_questions import world_of
from kgbench.vocab import OWL
from kgbench.worlds import claims, generator, questions

NAME: Final = "ClaimCheckWorld"
_WORD: Final = re.compile(r"\b(?:" + "|".join(claims.VERDICTS) + r")\b")
_PREFIXES: Final = {
    **questions.PREFIXES,
    "owl": str(OWL),
    "r": generator.RESOURCE,
}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: claims about the seed's world, each about another part of it."""
    parameters = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        claim = claims.draw_claim(world, parameters["level"], iteration, parameters["things"])
        lines = "\n".join([*generator.schema(generator.build_graph(world)), *claim.graph])
        triples = [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]
        return {
            "graph": serialising.serialise(triples, "turtle", _PREFIXES),
            "claim": claim.words,
            "claimTriples": list(claim.triples),
            "verdict": claim.verdict,
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the claim, with its part of the world."""
    return texts.filled(NAME, "prompt.txt", claim=case.data["claim"], graph=case.data["graph"])


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no parsing
    """Compare the verdict in the last answer with the right one."""
    answer = answers[-1]
    words = set(_WORD.findall(answer.lower()))
    verdict = words.pop() if len(words) == 1 else None
    expected = case.data["verdict"]
    scores = {
        "correct": float(verdict == expected),
        "overclaiming": float(expected == claims.UNKNOWN and verdict not in {None, expected}),
        "abstaining": float(expected != claims.UNKNOWN and verdict == claims.UNKNOWN),
    }
    infos = {"verdict": verdict, "expected": expected}
    if verdict is not None:
        return Verdict(scores, infos, Outcome.SCORED)
    return Verdict(scores, infos, Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY)


def reference(case: Case) -> str:
    """Return the reference answer: the right word."""
    return str(case.data["verdict"])
