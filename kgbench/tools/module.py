# SPDX-License-Identifier: Apache-2.0
"""What a task class implements that offers tools, or has dialogues with tools of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Protocol

from kgbench.model import Case, Executor, Json, Verdict
from kgbench.tool_calls import Tool, ToolCall, ToolResult


class ToolModule(Protocol):
    """The functions of a task class whose cases offer tools, beside those of every task class.

    All are pure given the executor, which runs queries under limits. The task declares the budget
    by the parameters that :mod:`kgbench.tools.budget` names.
    """

    def tools(self, case: Case) -> Sequence[Tool]:
        """Return the tools that ``case`` offers; none where it is asked without tools."""
        ...

    def use(
        self, case: Case, name: str, arguments: Mapping[str, Json], executor: Executor
    ) -> ToolResult:
        """Use the tool called ``name``; the arguments fit its schema."""
        ...

    def judge_dialogue(
        self, case: Case, prompts: Sequence[str], answers: Sequence[str], executor: Executor
    ) -> Verdict:
        """Judge the last of ``answers``; ``prompts`` were given before each, results of tools too.

        The texts are worded as :mod:`kgbench.tools.wording` says.
        """
        ...

    def say(self, case: Case, agent: str, messages: Sequence[str], chance: Random) -> str:
        """What the baseline model called ``agent`` says after ``messages``, in the text protocol.

        Agents are ``oracle``, ``schema-only``, ``random-walker`` and ``searcher``.
        """
        ...


class RecordedTools(Protocol):
    """The functions of a task class whose dialogues were held elsewhere, with tools of others.

    They let an audit execute recorded calls again as far as that can be done here.
    """

    def again(
        self, case: Case, call: ToolCall, result: ToolResult, prompt: str
    ) -> Mapping[str, Json] | str:
        """Return the arguments to :meth:`use` for a recorded call, or why it cannot be executed.

        ``prompt`` is the first prompt of the dialogue.
        """
        ...

    def use(
        self, case: Case, name: str, arguments: Mapping[str, Json], executor: Executor
    ) -> ToolResult:
        """Execute a call again with the arguments that :meth:`again` gave."""
        ...

    def agree(self, recorded: ToolResult, now: ToolResult) -> bool:
        """Return whether two results tell the same, whatever their words are."""
        ...

    def why_different(self, recorded: ToolResult, now: ToolResult) -> str | None:
        """Return the class of a difference that the two results explain, else ``None``."""
        ...
