# SPDX-License-Identifier: Apache-2.0
"""Tool calls and their outcomes per task, model and tool."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final

from kgbench.analysis.outcomes import dialogue_counts
from kgbench.analysis.registry import Metric, Option, OptionRefused, Purpose, analysis
from kgbench.analysis.run_totals import costs_by_task
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.reading import BY_TASK, CHOOSING, histograms, narrowing, selection_test
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores, less_is_better, score_name
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value
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
    """Read the calls by task and model (IRIs), then by tool and the label of its server.

    All calls together are those of the tool :data:`ALL_TOOLS`.
    """
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
        for counted in ((tool_name, server), (ALL_TOOLS, None)):
            calls[task, model][counted].add(
                row["dialogue"].value,
                (tool, row["arguments"].value),
                row["toolOutcome"].value.removeprefix(TOOL_OUTCOME),
                (ended - started).total_seconds(),
            )
    return calls


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
        count, share = begun[model, task], grounded.get((task, model))
        for (tool, server), calls in sorted(
            tools.items(),
            key=lambda each: (each[0][0] != ALL_TOOLS, -each[1].number, *map(str, each[0])),
        ):
            labels = (tasks[task].name, models.name(model), tool, server)
            rows.append((*labels, *calls.values(count), share if tool == ALL_TOOLS else None))
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
        for model, by_score in histograms(store, selection, chosen.values()).items()
        for score, values in by_score.items()
    }


SUCCESS_COLUMNS: Final = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("metric", "Metric"),
    Column("dialogues", "Dialogues", Kind.COUNT),
    Column("score", "Score", Kind.SCORE),
    Column("right", "Right", Kind.COUNT),
    Column("calls", "Calls", Kind.SCORE),
    Column("tokens", "Tokens", Kind.SCORE),
    Column("cost", "USD", Kind.SCORE),
    Column("tokens_per_right", "Tokens per right", Kind.SCORE),
    Column("cost_per_right", "USD per right", Kind.SCORE),
)
SUCCESS_QUERIES: Final = (
    *CHOOSING,
    "tool-calls",
    "dialogue-counts",
    *BY_TASK,
    "run-usage",
    "run-prices",
)
SUCCESS_NOTE: Final = (
    "Right counts the dialogues that reach the success threshold of the metric; calls, tokens and "
    "USD are per dialogue."
)


def tool_success(store: Store, selection: Selection, metric: str | None = None) -> Table:
    """Tabulate success: one row per task and model, for task classes with tool calls.

    All tasks of such a class are shown, so that conditions with and without tools can be compared.
    ``metric`` is a short name; the default is the main metric of each task. Raises
    :class:`~kgbench.errors.QueryError` where no matching task has the metric.
    """
    called = tool_calls(store, selection)
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    metrics = catalogue.metrics(store)
    classes = {tasks[task].task_class for task, _ in called}
    chosen = {
        task: score
        for task, score in chosen_scores(store, selection.tasks, metric).items()
        if tasks[task].task_class in classes
    }
    begun = dialogue_counts(store, selection)
    spent = _spent(store, selection)
    rows: list[tuple[Value, ...]] = []
    for model, by_score in histograms(store, selection, chosen.values()).items():
        for score, values in by_score.items():
            key = (score.task, model)
            metric_info = metrics[score.metric]
            right = None
            if metric_info.success is not None:
                right = metric_info.successes(values.counts, metric_info.success)
            of_tools = called.get(key, {}).get((ALL_TOOLS, None), Calls())
            tokens, cost = spent.get(key, (None, None))
            dialogues = max(begun[model, score.task], values.n)
            rows.append(
                (
                    tasks[score.task].name,
                    models.name(model),
                    score_name(score, metrics),
                    dialogues,
                    values.mean,
                    right,
                    of_tools.number / dialogues,
                    _per(tokens, dialogues),
                    _per(cost, dialogues),
                    _per(tokens, right),
                    _per(cost, right),
                )
            )
    return Table(
        title=f"Success with tools ({selection.suite_name})",
        columns=SUCCESS_COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (str(row[0]), str(row[1])))),
        notes=(SUCCESS_NOTE,) if rows else (NONE,),
        reason=None if rows else NONE,
        queries=SUCCESS_QUERIES,
        context={
            **selection.context,
            "by": "model",
            "metric": metric or "main",
            **less_is_better(chosen.values(), metrics),
        },
    )


def _per(amount: Decimal | int | None, number: int | None) -> float | None:
    return None if amount is None or not number else float(amount / number)


def _spent(
    store: Store, selection: Selection
) -> dict[tuple[str, str], tuple[int | None, Decimal | None]]:
    """Return tokens and cost by task and model (IRIs), over all runs; ``None`` where unknown."""
    spent: dict[tuple[str, str], tuple[int | None, Decimal | None]] = {}
    for graph in selection.run_graphs:
        for key, total in costs_by_task(store, graph).items():
            tokens, cost = spent.get(key, (0, Decimal(0)))
            usage = total.usage
            if usage.uncounted or tokens is None:
                tokens = None
            else:
                tokens += usage.input + usage.output
            cost = None if cost is None or total.cost is None else cost + total.cost
            spent[key] = tokens, cost
    return spent
