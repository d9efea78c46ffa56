# SPDX-License-Identifier: Apache-2.0
"""Text2ConstructWorld: build graphs from a generated world with a CONSTRUCT query.

World and graphs are generated from the seed of the plan (:mod:`kgbench.worlds`). The graph that a
query builds is compared with that of the reference, up to the names of blank nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgbench.model import Case, Executor, Task, Verdict
from kgbench.tasks import world_questions, world_writing
from kgbench.worlds import constructs, generator

NAME: Final = "Text2ConstructWorld"
WRITES: Final = True
"""Answers are compared by the triples that they write (:func:`.typed_answers.writes`)."""
_WORD: Final = re.compile(r"\bCONSTRUCT\b", re.IGNORECASE)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different graphs from the world (:func:`world_writing.cases`)."""
    return world_writing.cases(task, suite, seed, count, constructs.sheet)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the graph of the last answer; ask again if it is missing or empty."""
    compared = world_writing.judge_writing(case, answers[-1], executor, _WORD, update=False)
    feedback = (
        None if len(answers) >= world_writing.ROUNDS else world_writing.writing_feedback(compared)
    )
    if feedback is None:
        return compared.verdict
    return replace(compared.verdict, next_prompt=feedback[0], feedback=feedback[1])


def query(answer: str) -> str | None:
    """Return the SPARQL text in an answer; ``None`` if there is none."""
    return world_writing.extract_sparql(answer, _WORD)


check = generator.check_instances
graph_name = world_questions.graph_name
vocabulary = world_writing.vocabulary
prompt = world_writing.prompt
prepare = world_writing.prepare
reference = world_writing.reference
