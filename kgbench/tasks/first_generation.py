# SPDX-License-Identifier: Apache-2.0
"""TurtleConnectionExplainStatic and TurtleFriendCount: the Turtle-only versions of 2023.

They serve to judge results published in 2023 again. New runs use the succeeding task classes, with
Turtle as the graph format.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from kgbench.model import Case, Executor, Task, Verdict
from kgbench.tasks import catalogue, rdf_connection_explain, rdf_friend_count


class FirstGeneration:
    """A task class of 2023 (see :class:`kgbench.model.TaskModule`) that ``successor`` replaced."""

    def __init__(self, name: str, successor: ModuleType) -> None:
        self.NAME = name
        self.NEEDED: Sequence[str] = getattr(successor, "NEEDED", ())
        self.JUDGED_AS: str = successor.NAME
        self._successor = successor

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return the cases of the successor in Turtle."""
        return [
            catalogue.make_case(suite, self.NAME, task.parameters, case.data, case.uid)
            for case in self._successor.cases(self._newer(task), suite, seed, count)
        ]

    def check(self, task: Task) -> None:
        """Check ``task`` as the successor does."""
        catalogue.check(self._newer(task))

    def prompt(self, case: Case) -> str:
        """Return the prompt of the successor."""
        return str(self._successor.prompt(case))

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge as the successor does."""
        verdict: Verdict = self._successor.judge(case, answers, executor)
        return verdict

    def reference(self, case: Case) -> str:
        """Return the reference answer of the successor."""
        return str(self._successor.reference(case))

    def __getattr__(self, name: str) -> Any:
        """Return the guesses of the successor, if it has any."""
        if name in ("guess", "chance_level"):
            return getattr(self._successor, name)
        raise AttributeError(name)

    def _newer(self, task: Task) -> Task:
        parameters = {**task.parameters, "graphFormat": "turtle"}
        return catalogue.make_task(self.JUDGED_AS, task.label, parameters)


class _Connection(FirstGeneration):
    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG002 - no parsing
        """Judge as the successor does, except for the precision of an answer that names nothing.

        It was 0 in version 1.0; cases published with a later version specify another value.
        """
        precision = case.data.get("precisionOfNoNames", 0.0)
        return rdf_connection_explain.verdict(answers[-1], precision_of_no_names=precision)


CONNECTION = _Connection("TurtleConnectionExplainStatic", rdf_connection_explain)
FRIEND_COUNT = FirstGeneration("TurtleFriendCount", rdf_friend_count)
