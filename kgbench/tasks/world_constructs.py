# SPDX-License-Identifier: Apache-2.0
"""Text2ConstructWorld: graphs to be built from a generated world with a CONSTRUCT query.

World and graphs follow from the seed of the plan (:mod:`kgbench.worlds`). The graph that a query
builds is compared with that of the reference, up to the names of blank nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgbench.model import Case, Executor, Task, Verdict
from kgbench.tasks import world_questions, world_writing
from kgbench.worlds import constructs

NAME: Final = "Text2ConstructWorld"
WRITES: Final = True
"""Answers are compared by what they write (:func:`kgbench.tasks.typed_answers.writes`)."""
_WORD: Final = re.compile(r"\bCONSTRUCT\b", re.IGNORECASE)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` different graphs from the world of a seed (:func:`world_writing.cases`)."""
    return world_writing.cases(task, suite, seed, count, constructs.sheet)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the graph of the last answer; ask again where there is none, or an empty one."""
    of = world_writing.written(case, answers[-1], executor, _WORD, update=False)
    said = None if len(answers) >= world_writing.ROUNDS else world_writing.asked_again(of)
    if said is None:
        return of.verdict
    return replace(of.verdict, next_prompt=said[0], feedback=said[1])


def query(answer: str) -> str | None:
    """The text of SPARQL in an answer, if there is one."""
    return world_writing.selected(answer, _WORD)


check = world_questions.check
graph_name = world_questions.graph_name
vocabulary = world_writing.vocabulary
prompt = world_writing.prompt
prepare = world_writing.prepare
reference = world_writing.reference
