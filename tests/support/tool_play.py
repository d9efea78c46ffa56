# SPDX-License-Identifier: Apache-2.0
"""Dialogues of baseline agents with the tools of a case, in this process and without a budget."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

from kgbench.model import Case, Executor, Verdict
from kgbench.tasks import catalogue
from kgbench.tool_calls import ToolUse
from kgbench.tools import wording

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def cases(label: str, count: int, seed: int = 7, **parameters) -> list[Case]:
    """Return the first cases of a labelled task with changed parameters."""
    task = catalogue.labelled_tasks()[label]
    if parameters:
        task = catalogue.make_task(task.task_class, label, {**task.parameters, **parameters})
    return list(catalogue.module(task.task_class).cases(task, "own", seed, count))


def play(case: Case, agent: str, executor: Executor) -> Verdict:
    """Return the verdict on an agent's dialogue; the agent ``silent`` says nothing."""
    module = catalogue.module(case.task_class)
    messages = [f"{module.prompt(case)}\nLeft: 9."]
    answers: list[str] = []
    while True:
        said = "" if agent == "silent" else module.say(case, agent, messages, Random(1))
        answers.append(said)
        calls = wording.calls(said)
        if not calls or calls[0].name in {"answer", "cancel"}:
            return module.judge_dialogue(case, messages[::2], answers, executor)
        (call,) = calls
        result = module.use(case, call.name, wording.read_arguments(call.arguments), executor)
        told = wording.results_prompt([ToolUse(call, result, NOW, NOW)], "Left: 8.")
        messages += [said, told]
