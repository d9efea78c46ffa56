# SPDX-License-Identifier: Apache-2.0
"""Protocols of task classes that offer tools, or that have recorded dialogues with tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Protocol

from kgbench.model import Case, Executor, Json, Verdict
from kgbench.tool_calls import Tool, ToolCall, ToolResult


class ToolModule(Protocol):
    """The additional functions of a task class whose cases offer tools.

    All are pure, apart from the executor, which runs queries under limits. Parameters of the task
    declare the budget (:mod:`kgbench.tools.budget`).
    """

    def tools(self, case: Case) -> Sequence[Tool]:
        """Return the tools that ``case`` offers; none if it is asked without tools."""
        ...

    def use(
        self, case: Case, name: str, arguments: Mapping[str, Json], executor: Executor
    ) -> ToolResult:
        """Use the tool called ``name``; the arguments are valid for its schema."""
        ...

    def judge_dialogue(
        self, case: Case, prompts: Sequence[str], answers: Sequence[str], executor: Executor
    ) -> Verdict:
        """Judge the last of ``answers``; each answers one of ``prompts``, including tool results.

        The texts have the form of :mod:`kgbench.tools.wording`.
        """
        ...

    def say(self, case: Case, agent: str, messages: Sequence[str], chance: Random) -> str:
        """Return the answer of the baseline model ``agent`` to ``messages``, in the text protocol.

        Agents are ``oracle``, ``schema-only``, ``random-walker`` and ``searcher``.
        """
        ...


class RecordedTools(Protocol):
    """The additional functions of a task class whose dialogues were recorded elsewhere, with tools.

    They let an audit execute recorded calls again, if kgbench has equivalent tools.
    """

    def again(
        self, case: Case, call: ToolCall, result: ToolResult, prompt: str
    ) -> Mapping[str, Json] | str:
        """Return arguments of :meth:`use` for a recorded call, or why it cannot be executed again.

        ``prompt`` is the first prompt of the dialogue.
        """
        ...

    def use(
        self, case: Case, name: str, arguments: Mapping[str, Json], executor: Executor
    ) -> ToolResult:
        """Execute a call again with the arguments from :meth:`again`."""
        ...

    def agree(self, recorded: ToolResult, new_result: ToolResult) -> bool:
        """Return whether two results are equivalent, whatever their wording."""
        ...

    def why_different(self, recorded: ToolResult, new_result: ToolResult) -> str | None:
        """Return the class of the difference if the two results explain it, otherwise ``None``."""
        ...
