# SPDX-License-Identifier: Apache-2.0
"""Families with the prompts and the judge of another family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kgbench.families.frame import Family
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.tasks import catalogue


class DelegatingFamily(Family):
    """A family with the prompts and the judge of the family ``JUDGED_AS``."""

    JUDGED_AS: ClassVar[str]

    def __init__(self, judge: str) -> None:
        super().__init__(judge)
        self.NEEDED = self.other.NEEDED

    @property
    def other(self) -> Any:
        """The other family."""
        return catalogue.module(self.JUDGED_AS)

    def uid(self, data: Mapping[str, Json]) -> str | None:
        """Return the name of the case with ``data``, as the other family does."""
        uid: str | None = self.other.uid(data)
        return uid

    def prompt(self, case: Case) -> str:
        """Return the prompt of the other family."""
        return str(self.other.prompt(case))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge as the other family does."""
        verdict: Verdict = self.other.judge(case, answers, executor)
        return verdict

    def reference(self, case: Case) -> str:
        """Return the reference answer of the other family."""
        return str(self.other.reference(case))


class FirstGeneration(DelegatingFamily):
    """A family of 2023 that the other one replaced, which has more formats than Turtle.

    It serves to judge results published in 2023 again. New runs use the other family.
    """

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return the cases of the other family in Turtle."""
        others: Sequence[Case] = self.other.cases(self._newer(task), suite, seed, count)
        return [self.case(task, suite, case.data) for case in others]

    def check(self, task: Task) -> None:
        """Check ``task`` as the other family does."""
        catalogue.check(self._newer(task))

    def _newer(self, task: Task) -> Task:
        parameters = {**task.parameters, "graphFormat": "turtle"}
        return catalogue.make_task(self.JUDGED_AS, task.label, parameters)
