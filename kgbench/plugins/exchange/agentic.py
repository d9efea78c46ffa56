# SPDX-License-Identifier: Apache-2.0
"""The tools and the budget of a task in the format of Every Eval Ever."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.model import Json
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tools import budget
from kgbench.vocab import KGB, SCHEMA, SKOS


def arguments_of(run: OutgoingRun, task: str) -> dict[str, Json]:
    """Return the part of ``generation_args`` about the tools of a task (IRI); empty without tools.

    The tools are those of the installed version of the task class; they are left out if the run
    used another version.
    """
    parameters = run.catalogue.data(task, KGB.parameters)
    if budget.CALLS not in parameters:
        return {}
    offered = _offered_tools(run, task)
    if not offered:
        return {}
    limits = budget.of(parameters)
    details = {"tool_call_limit": str(limits.calls)}
    if limits.dollars is not None:
        details["cost_limit_usd"] = f"{limits.dollars:f}"
    eval_limits = {}
    if limits.seconds is not None:
        eval_limits["time_limit"] = int(limits.seconds)
    if limits.tokens is not None:
        eval_limits["token_limit"] = limits.tokens
    return {
        "agentic_eval_config": {"available_tools": offered, "additional_details": details},
        "eval_limits": eval_limits,
    }


def _offered_tools(run: OutgoingRun, task: str) -> list[Json]:
    label = run.catalogue.required(task, SKOS.notation)
    version = run.catalogue.value(run.class_of(task), SCHEMA.softwareVersion)
    known = catalogue.labelled_tasks().get(label)
    if known is None or known.version != version:
        return []
    suite = run.info.suite.rpartition("/")[2]
    cases = catalogue.module(known.task_class).cases(known, suite, 0, 1)
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": texts(tool.parameters.get("properties", {})),
        }
        for case in cases[:1]
        for tool in tool_prompts.tools_of(case)
    ]


def texts(values: Mapping[str, Json]) -> dict[str, str]:
    """Return ``values`` as strings, as the format requires; others are written as JSON."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }
