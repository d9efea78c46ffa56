# SPDX-License-Identifier: Apache-2.0
"""Text2UpdateWorld: changes of a generated world, to be made with a SPARQL update.

World and changes follow from the seed of the plan (:mod:`kgbench.worlds`). The update runs on a
copy of the world. What it changes is compared with what the reference changes, and so is the state
that it leaves: the two states are isomorphic where the changes are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgbench.model import Case, Executor, Task, Verdict
from kgbench.tasks import texts, world_questions, world_writing
from kgbench.worlds import updates

NAME: Final = "Text2UpdateWorld"
WRITES: Final = True
"""Answers are compared by what they write (:func:`kgbench.tasks.typed_answers.writes`)."""
_WORD: Final = re.compile(
    r"\b(?:INSERT|DELETE|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD)\b", re.IGNORECASE
)
_REMOVED: Final = '"removed"'


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` different changes of the world of a seed (:func:`world_writing.cases`)."""
    return world_writing.cases(task, suite, seed, count, updates.sheet)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare what the last answer's update changes; ask again where it is to blame for more.

    An update that does not parse, cannot be executed, changes nothing, or removes or adds triples
    that it should not, is asked for again.
    """
    of = world_writing.written(case, answers[-1], executor, _WORD, update=True)
    lost = sum(row[0] == _REMOVED for row in of.surplus)
    added = len(of.surplus) - lost
    scores = {**of.verdict.scores, "lost": float(lost), "added": float(added)}
    verdict = replace(of.verdict, scores=scores)
    if len(answers) >= world_writing.ROUNDS:
        return verdict
    said = world_writing.asked_again(of)
    if said is None and of.surplus:
        counts = {"lost": str(lost), "added": str(added)}
        said = texts.filled(NAME, "feedback-surplus.txt", **counts), "content"
    return verdict if said is None else replace(verdict, next_prompt=said[0], feedback=said[1])


def query(answer: str) -> str | None:
    """The text of SPARQL in an answer, if there is one."""
    return world_writing.selected(answer, _WORD)


check = world_questions.check
graph_name = world_questions.graph_name
vocabulary = world_writing.vocabulary
prompt = world_writing.prompt
prepare = world_writing.prepare
reference = world_writing.reference
