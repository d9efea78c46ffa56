# SPDX-License-Identifier: Apache-2.0
"""ClaimCheckWorld: decide whether a graph about a world entails or contradicts a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import pyoxigraph as ox

from kgbench.families.frame import DrawnFamily
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.tasks import serialising
from kgbench.vocab import OWL
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import world_of

from .cases import UNKNOWN, VERDICTS, draw_claim
from .verdicts import read_verdict

_PREFIXES: Final = {
    **questions.PREFIXES,
    "owl": str(OWL),
    "r": generator.RESOURCE,
}


class ClaimCheckWorld(DrawnFamily):
    """Claims about the seed's world, each with a graph of its own."""

    shows = ("claim", "graph")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a claim with its graph and verdict."""
        parameters = task.parameters
        claim = draw_claim(world_of(task, seed), parameters["level"], number, parameters["things"])
        triples = [quad.triple for quad in ox.parse("\n".join(claim.graph), ox.RdfFormat.N_TRIPLES)]
        return {
            "graph": serialising.serialise(triples, "turtle", _PREFIXES),
            "claim": claim.words,
            "claimTriples": list(claim.triples),
            "verdict": claim.verdict,
        }

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
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

    def guess(self, case: Case, chance: Random) -> str:
        """Return one of the three words at random."""
        return chance.choice(sorted(VERDICTS))

    def chance_level(self, case: Case) -> float:
        """Return the mean of the main metric over guesses: one word in three is right."""
        return 1 / len(VERDICTS)

    def reference(self, case: Case) -> str:
        """Return the right word."""
        return str(case.data["verdict"])


family: Final = ClaimCheckWorld(__file__)
