# SPDX-License-Identifier: Apache-2.0
"""Text2UpdateWorld: change a generated world with a SPARQL update.

World and changes are generated from the seed of the plan (:mod:`kgbench.worlds`). The update runs
on a copy of the world. Its changes are compared with those of the reference. This also compares the
resulting states, which are isomorphic if the changes are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgbench.model import Case, Executor, Task, Verdict
from kgbench.tasks import texts, world_questions, world_writing
from kgbench.worlds import generator, updates

NAME: Final = "Text2UpdateWorld"
WRITES: Final = True
"""Answers are compared by the triples that they write (:func:`.typed_answers.writes`)."""
_WORD: Final = re.compile(
    r"\b(?:INSERT|DELETE|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD)\b", re.IGNORECASE
)
_REMOVED: Final = '"removed"'


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different changes of the seed's world (:func:`world_writing.cases`)."""
    return world_writing.cases(task, suite, seed, count, updates.sheet)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the changes of the last answer's update with the expected ones.

    The model is asked again if the update does not parse, cannot be executed, changes nothing, or
    removes or adds wrong triples.
    """
    compared = world_writing.judge_writing(case, answers[-1], executor, _WORD, update=True)
    lost = sum(row[0] == _REMOVED for row in compared.surplus)
    added = len(compared.surplus) - lost
    scores = {**compared.verdict.scores, "lost": float(lost), "added": float(added)}
    verdict = replace(compared.verdict, scores=scores)
    if len(answers) >= world_writing.ROUNDS:
        return verdict
    feedback = world_writing.writing_feedback(compared)
    if feedback is None and compared.surplus:
        counts = {"lost": str(lost), "added": str(added)}
        feedback = texts.filled(NAME, "feedback-surplus.txt", **counts), "content"
    return (
        verdict
        if feedback is None
        else replace(verdict, next_prompt=feedback[0], feedback=feedback[1])
    )


def query(answer: str) -> str | None:
    """Return the SPARQL text in an answer; ``None`` if there is none."""
    return world_writing.extract_sparql(answer, _WORD)


check = generator.check_instances
graph_name = world_questions.graph_name
vocabulary = world_writing.vocabulary
prompt = world_writing.prompt
prepare = world_writing.prepare
reference = world_writing.reference
