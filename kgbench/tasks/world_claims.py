# SPDX-License-Identifier: Apache-2.0
"""ClaimCheckWorld: say whether a part of a generated world entails a claim, or contradicts it.

Worlds and claims follow from the seed of the plan (:mod:`kgbench.worlds`).
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
    """``count`` claims about the world of a seed, each about another part of it."""
    chosen = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        claim = claims.drawn(world, chosen["level"], iteration, chosen["things"])
        lines = "\n".join([*generator.schema(generator.made(world)), *claim.shown])
        triples = [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]
        return {
            "graph": serialising.serialise(triples, "turtle", _PREFIXES),
            "claim": claim.words,
            "claimTriples": list(claim.triples),
            "verdict": claim.verdict,
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The claim with the graph that it is about."""
    return texts.filled(NAME, "prompt.txt", claim=case.data["claim"], graph=case.data["graph"])


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no parsing
    """Compare the verdict that the last answer names with the right one."""
    answer = answers[-1]
    named = set(_WORD.findall(answer.lower()))
    said = named.pop() if len(named) == 1 else None
    right = case.data["verdict"]
    scores = {
        "correct": float(said == right),
        "overclaiming": float(right == claims.UNKNOWN and said not in {None, right}),
        "abstaining": float(right != claims.UNKNOWN and said == claims.UNKNOWN),
    }
    infos = {"verdict": said, "expected": right}
    if said is not None:
        return Verdict(scores, infos, Outcome.SCORED)
    return Verdict(scores, infos, Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY)


def reference(case: Case) -> str:
    """The right word."""
    return str(case.data["verdict"])
