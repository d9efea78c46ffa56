# SPDX-License-Identifier: Apache-2.0
"""Auditing recorded tool calls: each is executed again, and must give what was recorded.

Nothing is written. A call agrees where outcome and text are as recorded; one of another benchmark's
tools where both results tell the same (:class:`kgbench.tools.module.RecordedTools`). Calls that
cannot be executed (malformed, over budget, calls that end a dialogue, tools whose indexes are not
published) are kept aside with the reason. A difference is of one of four classes: ``time`` (one of
the two hit a limit), ``changed-graph`` (the content of the case does not have the recorded digest),
``engine`` (another engine gives what was recorded, or the query is one that engines take
differently) or ``forged`` (nothing explains it).
"""

from __future__ import annotations

import concurrent.futures
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, TypeAlias, cast

from kgbench.execution import query_traits
from kgbench.execution.judging import JudgeLimits, Used, UseRequest, answer_batch
from kgbench.execution.watched import REASONS
from kgbench.model import Case, Json
from kgbench.record import reading
from kgbench.record.dialogues import tool_uses
from kgbench.run_selection import Selection, runs_with
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, succession, tool_prompts
from kgbench.tool_calls import ToolOutcome, ToolResult, ToolUse
from kgbench.tools import arguments
from kgbench.tools.module import RecordedTools

_BATCH = 64  # calls executed by one call of the executor
_OTHER: Mapping[str, str] = {"oxigraph": "rdflib", "rdflib": "oxigraph"}


class Recorded(NamedTuple):
    """A recorded tool call, and where it stands; ``request`` executes it again, or says why not."""

    dialogue: str
    round: int
    place: int
    use: ToolUse
    request: UseRequest | str


@dataclass(slots=True)
class Audit:
    """How many calls were executed again, how many agree, those that do not, and the others.

    ``aside`` counts the calls that were not executed, by tool and reason.
    """

    calls: int = 0
    agree: int = 0
    differ: list[dict[str, Json]] = field(default_factory=list)
    aside: Counter[tuple[str, str]] = field(default_factory=Counter)

    def report(self) -> dict[str, Json]:
        """The audit as a JSON object."""
        aside = [
            {"tool": tool, "reason": reason, "calls": times}
            for (tool, reason), times in sorted(self.aside.items())
        ]
        return {"calls": self.calls, "agree": self.agree, "differ": self.differ, "aside": aside}


_Of: TypeAlias = "Sequence[tuple[Recorded, UseRequest]]"


def audit(
    store: Store,
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
    *,
    run: str | None = None,
    selection: Selection | None = None,
) -> Audit:
    """Execute the recorded tool calls of all runs again, or of the one called ``run``."""
    done = Audit()
    recorded = _executable(_recorded(store, run, selection or Selection()), done)
    while part := list(islice(recorded, _BATCH)):
        found = _executed(part, executor, limits)
        differing = [k for k, now in enumerate(found) if not _agree(part[k][0], now)]
        others = _executed(
            [part[k] for k in differing], executor, replace(limits, engine=_OTHER[limits.engine])
        )
        done.calls += len(part)
        done.agree += len(part) - len(differing)
        for k, other in zip(differing, others, strict=True):
            done.differ.append(_difference(*part[k], found[k], other))
    return done


def _executable(recorded: Iterator[Recorded], done: Audit) -> Iterator[tuple[Recorded, UseRequest]]:
    """The calls that can be executed; the others are counted."""
    for one in recorded:
        if isinstance(one.request, str):
            done.aside[one.use.call.name, one.request] += 1
        else:
            yield one, one.request


def _executed(
    part: _Of, executor: concurrent.futures.Executor, limits: JudgeLimits
) -> list[ToolResult]:
    if not part:
        return []
    answers = executor.submit(answer_batch, [request for _, request in part], limits).result()
    return [answer.result for answer in answers if isinstance(answer, Used)]


def _recorded(store: Store, run: str | None, chosen: Selection) -> Iterator[Recorded]:
    runs = reading.runs(store) if run is None else [reading.find_run(store, run)]
    models = reading.model_labels(store)
    cases: dict[str, Case] = {}
    for one in runs_with(store, runs, chosen):
        for execution in reading.executions(store, one.graph):
            task = reading.task(store, execution.task)
            name = succession.successor(task.task_class)
            known = name in catalogue.task_classes() and hasattr(catalogue.module(name), "use")
            if not known or not chosen.fits(task.label, models.get(execution.model, "")):
                continue
            of = {
                d.iri: (d.case, d.turns[0].prompt if d.turns else "")
                for d in reading.execution_dialogues(store, one.graph, execution, one.iri)
            }
            for dialogue, rounds in sorted(tool_uses(store, one.graph, of).items()):
                iri, prompt = of[dialogue]
                case = cases.get(iri)
                if case is None:
                    case = succession.case_judged_as(reading.case(store, iri))
                    cases[iri] = case
                for k, uses in sorted(rounds.items()):
                    for index, use in enumerate(uses):
                        yield Recorded(dialogue, k, index, use, _request(case, use, prompt))


def _request(case: Case, use: ToolUse, prompt: str) -> UseRequest | str:
    """How a call is executed again, or why it is not."""
    if use.result.fault is not None:
        return f"the call was not passed to any tool: {use.result.fault}"
    if (foreign := _foreign(case)) is not None:
        given = foreign.again(case, use.call, use.result, prompt)
        return given if isinstance(given, str) else UseRequest(case, use.call, given)
    if use.result.outcome is ToolOutcome.OVER_BUDGET:
        return "the budget was spent"
    if use.server is not None:
        return "the tool is one of another server"
    if use.call.name not in {tool.name for tool in tool_prompts.tools_of(case) if not tool.ends}:
        return "the call ends the dialogue"
    return UseRequest(case, use.call, arguments.read(use.call.arguments))


def _foreign(case: Case) -> RecordedTools | None:
    """The task class of a case whose dialogues were held with tools of others."""
    module = catalogue.module(case.task_class)
    return cast("RecordedTools", module) if hasattr(module, "again") else None


def _agree(recorded: Recorded, now: ToolResult) -> bool:
    request, before = recorded.request, recorded.use.result
    assert isinstance(request, UseRequest)
    foreign = _foreign(request.case)
    return now == before if foreign is None else foreign.agree(before, now)


def _hit_a_limit(result: ToolResult) -> bool:
    failed = result.outcome is ToolOutcome.ERROR
    return failed and any(reason in result.text for reason in REASONS.values())


def _difference(
    recorded: Recorded, request: UseRequest, now: ToolResult, other: ToolResult
) -> dict[str, Json]:
    use, case = recorded.use, request.case
    foreign = _foreign(case)
    again = catalogue.make_case(case.suite, case.task_class, case.parameters, case.data, case.uid)
    shows = None if foreign is None else foreign.why_different(use.result, now)
    if _hit_a_limit(use.result) or _hit_a_limit(now):
        kind = "time"
    elif again.digest != case.digest:
        kind = "changed-graph"
    elif shows is not None:
        kind = shows
    elif _agree(recorded, other) or (foreign and query_traits.traits(request.arguments["sparql"])):
        kind = "engine"
    else:
        kind = "forged"
    return {
        "dialogue": recorded.dialogue,
        "round": recorded.round,
        "index": recorded.place,
        "tool": use.call.name,
        "class": kind,
        "recorded": _told(use.result, foreign),
        "now": _told(now, foreign),
    }


def _told(result: ToolResult, foreign: RecordedTools | None) -> str:
    """The outcome of a call; of another benchmark's tool also the first line, with its numbers."""
    first = result.text.partition("\n")[0][:100]
    return str(result.outcome) if foreign is None else f"{result.outcome}: {first}"
