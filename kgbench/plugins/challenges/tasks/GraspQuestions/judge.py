# SPDX-License-Identifier: Apache-2.0
"""GraspQuestions: questions that GRASP answered with tools; queries run on the installed graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Case, Executor, Json, ToolCall, ToolResult, Verdict
from kgbench.plugins.challenges import grasp_transcripts
from kgbench.plugins.challenges.questions import RecordedQuestions
from kgbench.tasks import typed_answers


class GraspQuestions(RecordedQuestions):
    """Questions with recorded tool calls; see :class:`kgbench.tools.module.RecordedTools`."""

    policy = "grasp"

    def judge_dialogue(
        self,
        case: Case,
        prompts: Sequence[str],
        answers: Sequence[str],
        executor: Executor,
    ) -> Verdict:
        """Return the verdict on the final query; see :meth:`judge`."""
        return self.judge(case, answers, executor)

    def again(
        self, case: Case, call: ToolCall, result: ToolResult, prompt: str
    ) -> Mapping[str, Json] | str:
        """See :func:`.grasp_transcripts.again`; the graph has to be installed."""
        arguments = grasp_transcripts.again(call, result, prompt)
        obstacle = None if isinstance(arguments, str) else typed_answers.policy_obstacle(case, self)
        return obstacle or arguments

    def use(
        self,
        case: Case,
        name: str,
        arguments: Mapping[str, Json],
        executor: Executor,
    ) -> ToolResult:
        """See :func:`.grasp_transcripts.use`."""
        return grasp_transcripts.use(arguments, typed_answers.graph_of(case, self), executor)

    agree = staticmethod(grasp_transcripts.agree)
    why_different = staticmethod(grasp_transcripts.why_different)


family: Final = GraspQuestions(__file__)
