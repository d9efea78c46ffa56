# SPDX-License-Identifier: Apache-2.0
"""Rates of the outcomes of answers, per model and task.

``open`` counts dialogues that still wait for an answer because the provider failed.
"""

from __future__ import annotations

from collections import Counter

from kgbench.analysis import catalogue
from kgbench.analysis.outcome_counts import Ending, answer_endings, by_fact
from kgbench.analysis.registry import Purpose, analysis
from kgbench.analysis.scores import selection_test
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table
from kgbench.errors import QueryError
from kgbench.model import Outcome
from kgbench.rdf import queries
from kgbench.store.protocol import Store

QUERIES = (
    "list-passes",
    "list-suites",
    "list-tasks",
    "list-models",
    "failed-dialogues",
    "outcome-counts",
    "reported-outcomes",
)
COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("n", "n", Kind.COUNT),
    *(
        Column(outcome.value, outcome.value.replace("-", " ").capitalize(), Kind.SHARE)
        for outcome in Outcome
    ),
    Column("open", "Open", Kind.COUNT),
)


@analysis("outcomes", Purpose.LOOK)
def outcomes(store: Store, selection: Selection) -> Table:
    """Show the rate of each outcome of answers, for every task and model.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*oracle").outcomes().column("scored")
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    all_tasks, names = catalogue.tasks(store), catalogue.models(store)
    counts = of_answers(store, selection)
    waiting: Counter[tuple[str, str]] = Counter()
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        waiting[row["model"].value, row["task"].value] += int(row["count"].value)
    rows = []
    for model, task in {*counts, *waiting}:
        task_info = all_tasks[task]
        if names.fits(model, selection.models) and task_info.fits(selection.tasks):
            endings = counts.get((model, task), Counter())
            n, facts = endings.total(), by_fact(endings)
            shares = (facts[outcome.value] / n if n else None for outcome in Outcome)
            rows.append((task_info.name, names.name(model), n, *shares, waiting[model, task]))
    if not rows:
        raise QueryError(
            f"no answers match the task '{selection.tasks}' and the model '{selection.models}'"
        )
    return Table(
        title=f"Outcomes of answers ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (row[0], row[1]))),
        notes=(
            "Open: dialogues that wait for an answer because the provider failed.",
            "An answer that was truncated or refused counts there and by how it was judged.",
        ),
        queries=QUERIES,
        context=selection.context,
    )


def of_answers(store: Store, selection: Selection) -> dict[tuple[str, str], Counter[Ending]]:
    """Count the selected answers by their ending, for each model and task (IRIs)."""
    selected = selection_test(store, selection)
    counts = answer_endings(store, selection.pass_graphs, latest=selection.latest)
    return {cell: endings for cell, endings in counts.items() if selected(*cell)}
