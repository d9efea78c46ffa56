# SPDX-License-Identifier: Apache-2.0
"""Tool calls and their outcomes per task, model and tool."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from kgbench.analysis import catalogue
from kgbench.analysis.registry import Metric, Option, OptionRefused, Purpose, analysis
from kgbench.analysis.score_selectors import chosen_scores, histograms_by_model
from kgbench.analysis.scores import BY_TASK, CHOOSING, narrowing, selection_test
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.store.protocol import Store
from kgbench.tool_calls import Fault, ToolOutcome
from kgbench.vocab import TOOL_OUTCOME

ALL_TOOLS: Final = "All tools"
UNKNOWN: Final = "(unknown tool)"
"""The row for all unknown tool names together, because a model can invent any number of names."""
NAMELESS: Final = "(no tool)"
GROUNDED: Final = "grounded"
"""The short name of the metric that :func:`tool_usage` shows beside the calls."""

NONE: Final = "No dialogue of this selection has tool calls."
"""The reason of a table without rows."""

COLUMNS: Final = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("tool", "Tool"),
    Column("server", "Server"),
    Column("calls", "Calls", Kind.COUNT),
    *(
        Column(
            outcome.value.replace("-", "_"),
            outcome.value.replace("-", " ").capitalize(),
            Kind.SHARE,
        )
        for outcome in ToolOutcome
    ),
    Column("repeats", "Repeats", Kind.COUNT),
    Column("dialogues", "Dialogues", Kind.SHARE),
    Column("seconds", "Seconds", Kind.SCORE),
    Column("grounded", "Grounded", Kind.SCORE),
)
QUERIES: Final = (*CHOOSING, "tool-calls", "dialogue-counts", *BY_TASK)
NOTE: Final = (
    "Ok to Over budget are shares of the calls, Dialogues is the share of dialogues with a call, "
    "and Grounded the mean share of the IRIs in final queries that the model had been shown."
)


@dataclass(slots=True)
class Calls:
    """The calls of one tool, or of all tools, by one model on one task."""

    outcomes: Counter[str] = field(default_factory=Counter)
    dialogues: set[str] = field(default_factory=set)
    distinct_calls: set[tuple[str, str, str]] = field(default_factory=set)
    seconds: float = 0.0

    @property
    def number(self) -> int:
        """The number of calls."""
        return self.outcomes.total()

    def add(
        self, dialogue: str, tool_and_arguments: tuple[str, str], outcome: str, seconds: float
    ) -> None:
        """Count a call."""
        self.outcomes[outcome] += 1
        self.dialogues.add(dialogue)
        self.distinct_calls.add((dialogue, *tool_and_arguments))
        self.seconds += seconds

    def values(self, dialogues: int) -> Iterator[Value]:
        """Yield the values of the columns of the table; ``dialogues`` is the total number."""
        yield self.number
        yield from (self.outcomes[outcome.value] / self.number for outcome in ToolOutcome)
        yield self.number - len(self.distinct_calls)
        yield len(self.dialogues) / dialogues if dialogues else None
        yield self.seconds / self.number


def tool_calls(
    store: Store, selection: Selection
) -> dict[tuple[str, str], dict[tuple[str, str | None], Calls]]:
    """Read the calls by task and model (IRIs), then by tool and the label of its server."""
    selected = selection_test(store, selection)
    calls: dict[tuple[str, str], dict[tuple[str, str | None], Calls]] = defaultdict(
        lambda: defaultdict(Calls)
    )
    narrowed = narrowing(store, selection)
    for row in queries.run(store, "tool-calls", runGraph=list(selection.run_graphs), **narrowed):
        model, task = row["model"].value, row["task"].value
        if not selected(model, task):
            continue
        tool = row["tool"].value
        server = None if row["serverLabel"] is None else row["serverLabel"].value
        tool_name = tool or NAMELESS
        if tool and row["fault"] is not None and row["fault"].value == Fault.UNKNOWN_TOOL:
            tool_name = UNKNOWN
        started, ended = (datetime.fromisoformat(row[name].value) for name in ("started", "ended"))
        calls[task, model][tool_name, server].add(
            row["dialogue"].value,
            (tool, row["arguments"].value),
            row["toolOutcome"].value.removeprefix(TOOL_OUTCOME),
            (ended - started).total_seconds(),
        )
    return calls


def merge_calls(parts: Iterator[Calls]) -> Calls:
    """Merge the calls of several tools."""
    merged = Calls()
    for part in parts:
        merged.outcomes += part.outcomes
        merged.dialogues |= part.dialogues
        merged.distinct_calls |= part.distinct_calls
        merged.seconds += part.seconds
    return merged


def dialogue_counts(store: Store, selection: Selection) -> Counter[tuple[str, str]]:
    """Count the dialogues by task and model (IRIs)."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in queries.run(store, "dialogue-counts", runGraph=list(selection.run_graphs)):
        counts[row["task"].value, row["model"].value] += int(row["count"].value)
    return counts


class ToolRows(StrEnum):
    """The kinds of rows of the tables of tool calls."""

    TOOL = "tool"
    MODEL = "model"


@analysis("tools", Purpose.UNDERSTAND, figure="kgbench.plots.tool_points:TOOLS")
def tools(
    store: Store,
    selection: Selection,
    *,
    by: Annotated[
        ToolRows,
        Option(
            "Show rows per tool (calls and their outcomes), or per model (success against calls, "
            "tokens and cost)."
        ),
    ] = ToolRows.TOOL,
    metric: Metric = None,
) -> Table:
    """Show which tools models called, the outcomes of the calls, and the cost of success.

    >>> results = kgbench.open("kgbench-results")
    >>> results.tools().notes
    ('No dialogue of this selection has tool calls.',)
    """
    if by is ToolRows.MODEL:
        from kgbench.analysis.tool_success import tool_success  # imports this module

        return tool_success(store, selection, metric)
    if metric is not None:
        raise OptionRefused("metric", "rows of tools have no score: add --by model")
    return tool_usage(store, selection)


def tool_usage(store: Store, selection: Selection) -> Table:
    """Tabulate calls: one row per task, model and tool, the most called first, and one in total."""
    calls_of = tool_calls(store, selection)
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    begun = dialogue_counts(store, selection)
    grounded = _grounded(store, selection)
    rows: list[tuple[Value, ...]] = []
    for (task, model), tools in sorted(
        calls_of.items(), key=lambda pair: (tasks[pair[0][0]].name, models.name(pair[0][1]))
    ):
        labels = (tasks[task].name, models.name(model))
        count = begun[task, model]
        total = merge_calls(iter(tools.values()))
        share = grounded.get((task, model))
        rows.append((*labels, ALL_TOOLS, None, *total.values(count), share))
        by_calls = sorted(
            tools.items(), key=lambda entry: (-entry[1].number, entry[0][0], str(entry[0][1]))
        )
        rows += [
            (*labels, *tool_and_server, *calls.values(count), None)
            for tool_and_server, calls in by_calls
        ]
    return Table(
        title=f"Tool calls ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(NOTE,) if rows else (NONE,),
        reason=None if rows else NONE,
        queries=QUERIES,
        context={**selection.context, "by": "tool"},
    )


def _grounded(store: Store, selection: Selection) -> dict[tuple[str, str], float | None]:
    """Return the mean grounded share by task and model, where the task class has that metric."""
    try:
        chosen = chosen_scores(store, selection.tasks, GROUNDED)
    except QueryError:  # no task class here has this metric
        return {}
    return {
        (score.task, model): values.mean
        for model, by_score in histograms_by_model(store, selection, chosen.values()).items()
        for score, values in by_score.items()
    }
