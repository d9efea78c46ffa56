# SPDX-License-Identifier: Apache-2.0
"""SpinachQuestions and GraspQuestions: questions of other benchmarks with published answers.

All cases are imported. An answer is a query, judged by the comparison policy of its benchmark. For
SPINACH, the results of both queries are recorded with the answers; for GRASP, both queries are
executed on the installed graph of the case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.plugins.challenges import grasp_tools
from kgbench.policies.policy import policies
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import graphs, typed_answers
from kgbench.tool_calls import ToolCall, ToolResult

_FORM: Final = re.compile(r"\b(?:SELECT|ASK)\b", re.IGNORECASE)


class RecordedQuestions:
    """A task class (see :class:`kgbench.model.TaskModule`) judged by a declared policy."""

    LOADS = ("row matching",)

    def __init__(self, name: str, policy: str) -> None:
        self.NAME = name
        self._policy = policy

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG002 - none
        """Raise :class:`~kgbench.errors.TaskError`, because all cases are imported."""
        raise TaskError(f"{task.label} has no cases of its own: they come with imported answers")

    def prompt(self, case: Case) -> str:
        """Return the prompt: the question only."""
        question: str = case.data["question"]
        return question

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Return the verdict of the policy; see :func:`kgbench.tasks.typed_answers.judge`."""
        return typed_answers.judge(policies()[self._policy], case, answers, executor, self)

    def reference(self, case: Case) -> str:
        """Return the reference answer: the reference query in a fenced block."""
        return f"```sparql\n{case.data['refSparql'].strip()}\n```"

    def query(self, answer: str) -> str | None:
        """Return the first fenced block with a query, else the whole answer if it is a query."""
        candidates = [block.body.strip() for block in fenced_blocks(answer)] or [answer.strip()]
        return next((body for body in candidates if _FORM.search(body)), None)

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


class GraspQuestions(RecordedQuestions):
    """Questions that GRASP answered with tools; see :class:`kgbench.tools.module.RecordedTools`."""

    def judge_dialogue(
        self,
        case: Case,
        prompts: Sequence[str],  # noqa: ARG002 - the final query alone is judged
        answers: Sequence[str],
        executor: Executor,
    ) -> Verdict:
        """Return the verdict on the final query; see :meth:`judge`."""
        return self.judge(case, answers, executor)

    def again(
        self, case: Case, call: ToolCall, result: ToolResult, prompt: str
    ) -> Mapping[str, Json] | str:
        """See :func:`.grasp_tools.again`; the graph has to be installed."""
        arguments = grasp_tools.again(call, result, prompt)
        obstacle = None if isinstance(arguments, str) else typed_answers.policy_obstacle(case, self)
        return obstacle or arguments

    def use(
        self,
        case: Case,
        name: str,  # noqa: ARG002 - one tool can be used again
        arguments: Mapping[str, Json],
        executor: Executor,
    ) -> ToolResult:
        """See :func:`.grasp_tools.use`."""
        return grasp_tools.use(arguments, typed_answers.graph_of(case, self), executor)

    def agree(self, recorded: ToolResult, new_result: ToolResult) -> bool:
        """See :func:`.grasp_tools.agree`."""
        return grasp_tools.agree(recorded, new_result)

    def why_different(self, recorded: ToolResult, new_result: ToolResult) -> str | None:
        """See :func:`.grasp_tools.why_different`."""
        return grasp_tools.why_different(recorded, new_result)


SPINACH: Final = RecordedQuestions("SpinachQuestions", "spinach")
GRASP: Final = GraspQuestions("GraspQuestions", "grasp")
