# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of the families about ontologies: levels, cases, and verdicts on axioms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgbench.families import ontology_answers
from kgbench.model import Case, Verdict
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from kgbench.worlds.ontologies import LEVELS as COUNT
from tests.support import families

LEVELS = range(1, COUNT + 1)


def cases(name: str, level: int, count: int, names: str = "natural") -> list[Case]:
    """Return the first cases of a level of a family."""
    return families.cases(f"{name}-{names}-{level}", count)


def judged(case: Case, answer: str, rounds: int = 1) -> Verdict:
    """Return the verdict on an answer that is given in each round."""
    return catalogue.module(case.task_class).judge(case, [answer] * rounds, PlainExecutor())


def scores(case: Case, lines: Iterable[str]) -> Mapping[str, float]:
    """Return the scores of lines of Turtle."""
    return judged(case, ontology_answers.fenced(lines)).scores
