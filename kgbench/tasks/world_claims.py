# SPDX-License-Identifier: Apache-2.0
"""ClaimCheckWorld: decide whether a graph about a generated world entails or contradicts a claim.

Worlds and claims are generated from the seed of the plan (:mod:`kgbench.worlds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.tasks import catalogue, serialising, texts
from kgbench.tasks.claim_verdicts import read_verdict
from kgbench.vocab import OWL
from kgbench.worlds import claims, generator, questions
from kgbench.worlds.claim_graphs import UNKNOWN, VERDICTS
from kgbench.worlds.generator import world_of

NAME: Final = "ClaimCheckWorld"
_PREFIXES: Final = {
    **questions.PREFIXES,
    "owl": str(OWL),
    "r": generator.RESOURCE,
}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: claims about the seed's world, each with a graph of its own."""
    parameters = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        claim = claims.draw_claim(world, parameters["level"], iteration, parameters["things"])
        triples = [quad.triple for quad in ox.parse("\n".join(claim.graph), ox.RdfFormat.N_TRIPLES)]
        return {
            "graph": serialising.serialise(triples, "turtle", _PREFIXES),
            "claim": claim.words,
            "claimTriples": list(claim.triples),
            "verdict": claim.verdict,
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the claim, with its graph."""
    return texts.filled(NAME, "prompt.txt", claim=case.data["claim"], graph=case.data["graph"])


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no parsing
    """Compare the verdict in the last answer with the right one."""
    answer = answers[-1]
    verdict = read_verdict(answer)
    expected = case.data["verdict"]
    scores = {
        "correct": float(verdict == expected),
        "overclaiming": float(expected == UNKNOWN and verdict not in {None, expected}),
        "abstaining": float(expected != UNKNOWN and verdict == UNKNOWN),
    }
    infos = {"verdict": verdict, "expected": expected}
    if verdict is not None:
        return Verdict(scores, infos, Outcome.SCORED)
    return Verdict(scores, infos, Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY)


def guess(case: Case, chance: Random) -> str:  # noqa: ARG001 - the interface
    """Return one of the three words at random."""
    return chance.choice(sorted(VERDICTS))


def chance_level(case: Case) -> float:  # noqa: ARG001 - the interface
    """Return the mean of the main metric over guesses: one word in three is right."""
    return 1 / len(VERDICTS)


def reference(case: Case) -> str:
    """Return the reference answer: the right word."""
    return str(case.data["verdict"])
