# SPDX-License-Identifier: Apache-2.0
"""The benefit of tools: success against tool calls, tokens and cost, per task and model."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Final, NamedTuple

from kgbench.analysis import catalogue
from kgbench.analysis.run_totals import costs_by_task
from kgbench.analysis.score_selectors import chosen_scores, histograms_by_model, score_name
from kgbench.analysis.scores import BY_TASK, CHOOSING
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.tool_usage import NONE, dialogue_counts, merge_calls, tool_calls
from kgbench.store.protocol import Store

COLUMNS: Final = (
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
QUERIES: Final = (
    *CHOOSING,
    "tool-calls",
    "dialogue-counts",
    *BY_TASK,
    "run-usage",
    "run-prices",
)
NOTE: Final = (
    "Right counts the dialogues that reach the success threshold of the metric; calls, tokens and "
    "USD are per dialogue."
)


class TokensAndCost(NamedTuple):
    """The tokens and cost of all dialogues of a model on a task; ``None`` where unknown."""

    tokens: int | None
    cost: Decimal | None


def tool_success(store: Store, selection: Selection, metric: str | None = None) -> Table:
    """Tabulate success: one row per task and model, for task classes with tool calls.

    All tasks of such a class are shown, so that conditions with and without tools can be compared.
    ``metric`` is a short name; the default is the main metric of each task. Raises
    :class:`~kgbench.errors.QueryError` where no matching task has the metric.
    """
    called = tool_calls(store, selection)
    tasks, models, metrics = (
        catalogue.tasks(store),
        catalogue.models(store),
        catalogue.metrics(store),
    )
    classes = {tasks[task].task_class for task, _ in called}
    chosen = {
        task: score
        for task, score in chosen_scores(store, selection.tasks, metric).items()
        if tasks[task].task_class in classes
    }
    begun = dialogue_counts(store, selection)
    spent = _spent(store, selection)
    rows: list[tuple[Value, ...]] = []
    for model, by_score in histograms_by_model(store, selection, chosen.values()).items():
        for score, values in by_score.items():
            key = (score.task, model)
            metric_info = metrics[score.metric]
            right = None
            if metric_info.success is not None:
                right = sum(
                    count
                    for value, count in values.counts.items()
                    if metric_info.succeeds(value, metric_info.success)
                )
            calls = merge_calls(iter(called.get(key, {}).values())).number
            tokens, cost = spent.get(key, TokensAndCost(None, None))
            dialogues = max(begun[key], values.n)
            rows.append(
                (
                    tasks[score.task].name,
                    models.name(model),
                    score_name(score, metrics),
                    dialogues,
                    values.mean,
                    right,
                    calls / dialogues,
                    _per(tokens, dialogues),
                    _per(cost, dialogues),
                    _per(tokens, right),
                    _per(cost, right),
                )
            )
    return Table(
        title=f"Success with tools ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (str(row[0]), str(row[1])))),
        notes=(NOTE,) if rows else (NONE,),
        reason=None if rows else NONE,
        queries=QUERIES,
        context={**selection.context, "by": "model", "metric": metric or "main"},
    )


def _per(amount: Decimal | int | None, number: int | None) -> float | None:
    return None if amount is None or not number else float(amount / number)


def _spent(store: Store, selection: Selection) -> dict[tuple[str, str], TokensAndCost]:
    """Return tokens and cost by task and model (IRIs), over all runs of the selection."""
    spent: dict[tuple[str, str], list[TokensAndCost]] = defaultdict(list)
    for graph in selection.run_graphs:
        for key, total in costs_by_task(store, graph).items():
            usage = total.usage
            counted = None if usage.uncounted else usage.input + usage.output
            spent[key].append(TokensAndCost(counted, total.cost))
    return {key: _sum(parts) for key, parts in spent.items()}


def _sum(parts: list[TokensAndCost]) -> TokensAndCost:
    tokens = [part.tokens for part in parts if part.tokens is not None]
    costs = [part.cost for part in parts if part.cost is not None]
    return TokensAndCost(
        sum(tokens) if len(tokens) == len(parts) else None,
        sum(costs, Decimal(0)) if len(costs) == len(parts) else None,
    )
