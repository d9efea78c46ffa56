# SPDX-License-Identifier: Apache-2.0
"""Variance components of scores: between tasks, between cases, and within cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from kgbench.analysis import scores as fetch
from kgbench.analysis.components import Components, Nested, by_model, several_cases
from kgbench.analysis.repetitions import repetitions
from kgbench.analysis.score_selectors import chosen_scores, with_left_out_notes
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.store.protocol import Store

COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("cases", "Cases", Kind.COUNT),
    Column("n", "n", Kind.COUNT),
    Column("between_tasks", "Between tasks", Kind.SCORE),
    Column("between_cases", "Between cases", Kind.SCORE),
    Column("within_cases", "Within cases", Kind.SCORE),
    Column("case_share", "Share of cases", Kind.SHARE),
    Column("agree", "All answers agree", Kind.SHARE),
    Column("design_effect", "Design effect", Kind.SCORE),
    Column("error", "Error", Kind.SCORE),
    Column("error_repetitions", "Repetitions x 2", Kind.SCORE),
    Column("error_cases", "Cases x 2", Kind.SCORE),
)
QUERIES = (*fetch.CHOOSING, *fetch.CASES)


def variance(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    answers: str | None = None,
    by_task: bool = False,
) -> Table:
    """Tabulate variance components: one row per model, or with ``by_task`` per task and model.

    ``metric`` and ``answers`` are as in :func:`~kgbench.analysis.task_scores.task_scores`. The
    components between and within cases, and the columns derived from them, are those of tasks with
    at least two cases, if there are any. Raises :class:`~kgbench.errors.QueryError` where nothing
    was scored.
    """
    chosen = chosen_scores(store, selection.tasks, metric, answers)
    values = by_model(repetitions(store, selection, chosen))
    if not values:
        raise QueryError("no scores match the selection")
    models, tasks = fetch.models(store), fetch.tasks(store)
    rows: list[tuple[Value, ...]] = []
    shares, agreed = [], []
    for model in sorted(values, key=models.name):
        cells = {tasks[task].name: {task: of_task} for task, of_task in values[model].items()}
        for cell in cells.values():
            share, agree = Components.of(cell).case_share, _agree(cell)
            shares += [] if share is None else [share]
            agreed += [] if agree is None else [agree == 1.0]
        if by_task:
            rows += [(name, models.name(model), *_row(cells[name])) for name in cells]
        else:
            rows.append((None, models.name(model), *_row(values[model])))
    columns, shown_rows = _columns(rows, by_task=by_task)
    table = Table(
        title=f"Variance components ({selection.suite_name})",
        columns=columns,
        rows=shown_rows,
        notes=tuple(_notes(shares, agreed)),
        queries=QUERIES,
        context={**selection.context, "median_case_share": median(shares) if shares else None},
        iris={"model": {models.name(model): model for model in values}},
    )
    return with_left_out_notes(store, table)


def _columns(
    rows: list[tuple[Value, ...]], *, by_task: bool
) -> tuple[tuple[Column, ...], tuple[tuple[Value, ...], ...]]:
    """Drop the columns that cannot have values for rows per task, or for rows per model."""
    absent = {"tasks", "between_tasks"} if by_task else {"task"}
    indices = [index for index, column in enumerate(COLUMNS) if column.name not in absent]
    ordered = sorted(rows, key=lambda row: (str(row[0]), str(row[1])))
    return tuple(COLUMNS[k] for k in indices), tuple(
        tuple(row[k] for k in indices) for row in ordered
    )


def _row(values: Nested) -> tuple[Value, ...]:
    several = several_cases(values)
    all_components = Components.of(values)
    components = Components.of(several) if several else all_components
    n = sum(case.n for cases in values.values() for case in cases.values())
    error = components.error(several)
    return (
        len(values),
        sum(map(len, values.values())),
        n,
        all_components.tasks,
        components.cases,
        components.within,
        components.case_share,
        _agree(values),
        _design_effect(several, components),
        error,
        components.error(several, repetitions=2),
        components.error(several, cases=2),
    )


def _design_effect(values: Nested, components: Components) -> float | None:
    """Return the ratio of the variance of the mean to that of as many independent values.

    It is 1 + (m - 1) ICC for cases with m answers each (Kish, Survey Sampling, 1965, section 5.4).
    """
    share = components.case_share
    if share is None:
        return None
    sizes = [case.n for cases in values.values() for case in cases.values()]
    return 1 + (sum(size**2 for size in sizes) / sum(sizes) - 1) * share


def _agree(values: Nested) -> float | None:
    """Return the share of repeated cases whose answers all have the same score."""
    repeated = [case for cases in values.values() for case in cases.values() if case.n > 1]
    if not repeated:
        return None
    return sum(len(case.counts) == 1 for case in repeated) / len(repeated)


def _notes(shares: Sequence[float], agreed: Sequence[bool]) -> Iterable[str]:
    yield (
        "Error: standard error of the mean for cases of this kind and fixed tasks, over the tasks "
        "with several cases; and its value with twice the repetitions, or twice the cases."
    )
    if shares:
        yield (
            f"Share of cases in the variance within a task: median {median(shares):.2f} of "
            f"{len(shares)} cells (model and task) with several cases that vary."
        )
    if agreed:
        yield (
            f"In {sum(agreed)} of {len(agreed)} cells with repetitions all answers to each case "
            "have the same score."
        )
