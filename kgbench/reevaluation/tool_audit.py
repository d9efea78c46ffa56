# SPDX-License-Identifier: Apache-2.0
"""Audit of recorded tool calls: each call is executed again and must reproduce its result.

Nothing is written. A call agrees if outcome and text are as recorded; for another benchmark's
tools, if both results state the same (:class:`kgbench.tools.module.RecordedTools`). Calls that
cannot be executed (malformed, over budget, calls that end a dialogue, tools with unpublished
indexes) are set aside with the reason. A difference belongs to one of four classes: ``time`` (one
of the two hit a limit), ``changed-graph`` (the content of the case does not have the recorded
digest), ``engine`` (another engine gives the recorded result, or engines treat the query
differently) or ``forged`` (nothing explains the difference).
"""

from __future__ import annotations

import concurrent.futures
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar, cast

from kgbench.execution.frames import REASONS
from kgbench.execution.judging import JudgeLimits, ToolRequest, ToolRun, answer_batch
from kgbench.execution.pools import in_order, split_parts
from kgbench.model import Case, Json
from kgbench.record import reading
from kgbench.record.dialogues import dialogues
from kgbench.record.recorded_results import RecordedCases
from kgbench.reevaluation import causes
from kgbench.run_selection import Selection, select_runs
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tool_calls import ToolOutcome, ToolResult, ToolUse
from kgbench.tools import wording
from kgbench.tools.module import RecordedTools

_OTHER: Mapping[str, str] = {"oxigraph": "rdflib", "rdflib": "oxigraph"}
Of = TypeVar("Of")


class RecordedCall(NamedTuple):
    """A recorded tool call with its position, and the request to repeat it or the obstacle."""

    dialogue: str
    round: int
    place: int
    use: ToolUse
    request: ToolRequest | str


@dataclass(slots=True)
class Audit:
    """The result of an audit: numbers of executed and agreeing calls, and the differences.

    ``aside`` counts the calls that were not executed, by tool and reason.
    """

    calls: int = 0
    agree: int = 0
    differ: list[dict[str, Json]] = field(default_factory=list)
    aside: Counter[tuple[str, str]] = field(default_factory=Counter)

    def report(self) -> dict[str, Json]:
        """Return the audit as a JSON object."""
        aside = [
            {"tool": tool, "reason": reason, "calls": times}
            for (tool, reason), times in sorted(self.aside.items())
        ]
        return {"calls": self.calls, "agree": self.agree, "differ": self.differ, "aside": aside}


def audit(
    store: Store,
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
    *,
    run: str | None = None,
    selection: Selection | None = None,
    watch: Callable[[int], None] | None = None,
) -> Audit:
    """Execute the recorded tool calls of all runs again, or of the one called ``run``.

    The other engine executes differing calls once more. ``watch`` is called with the number of
    executed calls. The result does not depend on the number of workers of ``executor``.
    """
    result = Audit()
    calls = _executable(_recorded(store, run, selection or Selection()), result)
    differing = _differing(_executed(calls, executor, limits), result, watch)
    other_limits = replace(limits, engine=_OTHER[limits.engine])
    for (call, now), request, other in _executed(differing, executor, other_limits):
        result.differ.append(_difference(call, request, now, other))
    return result


def _executable(
    recorded: Iterator[RecordedCall], result: Audit
) -> Iterator[tuple[RecordedCall, ToolRequest]]:
    """Yield the calls that can be executed; count the others in ``result.aside``."""
    for call in recorded:
        if isinstance(call.request, str):
            result.aside[call.use.call.name, call.request] += 1
        else:
            yield call, call.request


def _executed(
    calls: Iterable[tuple[Of, ToolRequest]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
) -> Iterator[tuple[Of, ToolRequest, ToolResult]]:
    """Yield each call with its request and result, in order, while later ones are executed."""
    batches = ((part, [request for _, request in part]) for part in split_parts(calls))
    for part, answers in in_order(batches, executor, answer_batch, limits):
        for (of, request), answer in zip(part, answers, strict=True):
            assert isinstance(answer, ToolRun)
            yield of, request, answer.result


def _differing(
    executed: Iterable[tuple[RecordedCall, ToolRequest, ToolResult]],
    result: Audit,
    watch: Callable[[int], None] | None,
) -> Iterator[tuple[tuple[RecordedCall, ToolResult], ToolRequest]]:
    """Count ``executed`` calls in ``result``; yield those with another result than recorded."""
    for call, request, now in executed:
        agrees = _agree(call, now)
        result.calls += 1
        result.agree += agrees
        if watch is not None:
            watch(result.calls)
        if not agrees:
            yield (call, now), request


def _recorded(store: Store, run: str | None, selection: Selection) -> Iterator[RecordedCall]:
    runs = reading.runs(store) if run is None else [reading.find_run(store, run)]
    models = reading.model_labels(store)
    recorded = RecordedCases(store)
    for run_info in select_runs(store, runs, selection):
        for execution in reading.executions(store, run_info.graph):
            task = recorded.task(execution.task)
            name = catalogue.successor(task.task_class)
            has_tools = name in catalogue.task_classes() and hasattr(catalogue.module(name), "use")
            if not has_tools or not selection.fits(task.label, models.get(execution.model, "")):
                continue
            of_graph = run_info.graph, execution, run_info.iri
            iris = sorted(d.iri for d in reading.execution_dialogues(store, *of_graph))
            for dialogue in dialogues(store, iris):
                for k, turn in enumerate(dialogue.turns):
                    for index, use in enumerate(turn.uses):
                        prompt = dialogue.turns[0].prompt
                        request = _request(recorded.case(dialogue.case), use, prompt)
                        yield RecordedCall(dialogue.iri, k, index, use, request)


def _request(case: Case, use: ToolUse, prompt: str) -> ToolRequest | str:
    """Return the request that executes a call again, or the obstacle as a text."""
    if use.result.fault is not None:
        return f"the call was not passed to any tool: {use.result.fault}"
    if (foreign := _foreign(case)) is not None:
        request_or_obstacle = foreign.again(case, use.call, use.result, prompt)
        return (
            request_or_obstacle
            if isinstance(request_or_obstacle, str)
            else ToolRequest(case, use.call, request_or_obstacle)
        )
    if use.result.outcome is ToolOutcome.OVER_BUDGET:
        return "the budget was spent"
    if use.server is not None:
        return "the tool is one of another server"
    if use.call.name not in {tool.name for tool in tool_prompts.tools_of(case) if not tool.ends}:
        return "the call ends the dialogue"
    return ToolRequest(case, use.call, wording.read_arguments(use.call.arguments))


def _foreign(case: Case) -> RecordedTools | None:
    """Return the module of a case recorded with another benchmark's tools, otherwise ``None``."""
    module = catalogue.module(case.task_class)
    return cast("RecordedTools", module) if hasattr(module, "again") else None


def _agree(recorded: RecordedCall, new_result: ToolResult) -> bool:
    request, before = recorded.request, recorded.use.result
    assert isinstance(request, ToolRequest)
    foreign = _foreign(request.case)
    return new_result == before if foreign is None else foreign.agree(before, new_result)


def _hit_a_limit(result: ToolResult) -> bool:
    failed = result.outcome is ToolOutcome.ERROR
    return failed and any(reason in result.text for reason in REASONS.values())


def _difference(
    recorded: RecordedCall, request: ToolRequest, new_result: ToolResult, other: ToolResult
) -> dict[str, Json]:
    use, case = recorded.use, request.case
    foreign = _foreign(case)
    rebuilt = catalogue.make_case(case.suite, case.task_class, case.parameters, case.data, case.uid)
    foreign_cause = None if foreign is None else foreign.why_different(use.result, new_result)
    if _hit_a_limit(use.result) or _hit_a_limit(new_result):
        kind = "time"
    elif rebuilt.digest != case.digest:
        kind = "changed-graph"
    elif foreign_cause is not None:
        kind = foreign_cause
    elif _agree(recorded, other) or (foreign and causes.traits(request.arguments["sparql"])):
        kind = "engine"
    else:
        kind = "forged"
    return {
        "dialogue": recorded.dialogue,
        "round": recorded.round,
        "index": recorded.place,
        "tool": use.call.name,
        "class": kind,
        "recorded": _summary(use.result, foreign),
        "now": _summary(new_result, foreign),
    }


def _summary(result: ToolResult, foreign: RecordedTools | None) -> str:
    """Return the outcome of a call.

    For another benchmark's tool, the first line of the result follows.
    """
    first = result.text.partition("\n")[0][:100]
    return str(result.outcome) if foreign is None else f"{result.outcome}: {first}"
