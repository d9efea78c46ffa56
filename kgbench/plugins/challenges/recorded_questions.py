# SPDX-License-Identifier: Apache-2.0
"""Families of questions of other benchmarks with published answers.

All cases are imported. An answer is a query, judged by the comparison policy of its benchmark. For
SPINACH, the results of both queries are recorded with the answers; for GRASP, both queries are
executed on the installed graph of the case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from kgbench.errors import TaskError
from kgbench.families.frame import Family
from kgbench.families.queries import fenced_query
from kgbench.model import Case, Executor, Task, Verdict
from kgbench.policies.policy import policies
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import graphs, typed_answers

_FORM: Final = re.compile(r"\b(?:SELECT|ASK)\b", re.IGNORECASE)


def query(answer: str) -> str | None:
    """Return the first fenced block with a query, else the whole answer if it is a query."""
    candidates = [block.body.strip() for block in fenced_blocks(answer)] or [answer.strip()]
    return next((body for body in candidates if _FORM.search(body)), None)


class RecordedQuestions(Family):
    """A family that is judged by a declared policy."""

    LOADS = ("row matching",)
    policy: ClassVar[str]
    query = staticmethod(query)

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG002 - none
        """Raise :class:`~kgbench.errors.TaskError`, because all cases are imported."""
        raise TaskError(f"{task.label} has no cases of its own: they come with imported answers")

    def prompt(self, case: Case) -> str:
        """Return the question only."""
        question: str = case.data["question"]
        return question

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Return the verdict of the policy; see :func:`kgbench.tasks.typed_answers.judge`."""
        return typed_answers.judge(policies()[self.policy], case, answers, executor, self)

    def reference(self, case: Case) -> str:
        """Return the reference query in a fenced block."""
        return fenced_query(case)

    def graph_name(self, case: Case) -> str | None:
        """Return the graph for queries about ``case``; ``None`` if their results are recorded."""
        name: str | None = case.data.get("graphName")
        return name

    def needs_recorded_results(self, case: Case) -> bool:
        """Return whether queries about ``case`` need recorded results because there is no graph."""
        return self.graph_name(case) is None

    def prepare(self) -> None:
        """Open graphs for judging processes, which cannot open files."""
        graphs.prepare()
