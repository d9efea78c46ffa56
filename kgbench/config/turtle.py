# SPDX-License-Identifier: Apache-2.0
"""Serialisation of plans as configurations in Turtle, which runs record.

Every task has all its parameters and every model its full specification, so that the meaning does
not change when other tasks are installed, and loading the text gives the same plan. The text of a
plan is canonical: keys have a fixed order, and parameters are sorted by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from kgbench import rdf
from kgbench.config.graphs import PARAMETER
from kgbench.model import Json, ModelSetup, Plan, Task
from kgbench.vocab import PREFIXES

_LOCAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def plan_to_turtle(plan: Plan) -> str:
    """Serialise ``plan`` as Turtle; its ``source_ttl`` is ignored."""
    iterations = "iterationsPerCase" if plan.iterations_per_case else "iterations"
    lines = [
        *(f"@prefix {name}: <{PREFIXES[name]}> ." for name in ("dcterms", "kgb", "rdfs")),
        f"@prefix param: <{PARAMETER}> .",
        "",
        "[] a kgb:Configuration ;",
        f"    dcterms:title {rdf.string(plan.name)} ;",
        f"    kgb:suiteName {rdf.string(plan.suite)} ;",
        f"    kgb:{iterations} {plan.iterations} ;",
        f"    kgb:randomSeed {plan.seed} ;",
        f"    kgb:concurrency {plan.concurrency} ;",
        f"    kgb:maxRetries {plan.max_retries} ;",
        f"    kgb:callTimeout {_real(plan.call_timeout)} ;",
        f"    kgb:judgeTimeout {_real(plan.judge_timeout)} ;",
        *_limits(plan),
        "    kgb:tasks (",
        *(f"        {_task(task)}" for task in plan.tasks),
        "    ) ;",
        "    kgb:models (",
        *(f"        {_model(model)}" for model in plan.models),
        "    ) .",
    ]
    return "\n".join(lines) + "\n"


def _limits(plan: Plan) -> list[str]:
    """Return the optional keys, without the price table: the prices themselves are recorded."""
    amounts = {
        "requestsPerMinute": plan.requests_per_minute,
        "tokensPerMinute": plan.tokens_per_minute,
        "maxCost": plan.max_cost,
    }
    lines = [f"    kgb:{k} {_real(float(v))} ;" for k, v in amounts.items() if v is not None]
    if plan.max_tokens is not None:
        lines.append(f"    kgb:maxTokens {plan.max_tokens} ;")
    if plan.batch:
        lines.append("    kgb:inBatches true ;")
    if plan.tool_protocol is not None:
        lines.append(f"    kgb:toolProtocol {rdf.string(plan.tool_protocol)} ;")
    return lines


def _task(task: Task) -> str:
    params = f" ; kgb:params {_object(task.parameters)}" if task.parameters else ""
    name = rdf.string(task.task_class)
    return f"[ rdfs:label {rdf.string(task.label)} ; kgb:className {name}{params} ]"


def _model(model: ModelSetup) -> str:
    return f"[ rdfs:label {rdf.string(model.label)} ; kgb:spec {rdf.string(model.spec)} ]"


def _object(values: Mapping[str, Json]) -> str:
    pairs = [f"{_property(k)} {_value(v)}" for k, v in sorted(values.items()) if v is not None]
    return f"[ {' ; '.join(pairs)} ]" if pairs else "[]"


def _property(name: str) -> str:
    if _LOCAL_NAME.fullmatch(name):
        return f"param:{name}"
    return f"<{PARAMETER}{quote(name, safe='')}>"


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, list | tuple):
        return f"( {' '.join(_value(item) for item in value)} )"
    return rdf.string(str(value))


def _real(value: float) -> str:
    """Write a double in the short form of Turtle, which requires an exponent."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"
