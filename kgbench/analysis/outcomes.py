# SPDX-License-Identifier: Apache-2.0
"""How answers ended, per model and task: the rate of each outcome of the declared scheme."""

from __future__ import annotations

from collections import Counter, defaultdict
from fnmatch import fnmatchcase

from kgbench.analysis import counting
from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table
from kgbench.errors import QueryError
from kgbench.model import Outcome
from kgbench.rdf import queries
from kgbench.store.protocol import Store

QUERIES = (
    *("list-passes", "list-suites", "list-tasks", "list-models"),
    *("failed-dialogues", *counting.OUTCOMES),
)
COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("n", "n", Kind.COUNT),
    *(Column(one.value, one.value.replace("-", " ").capitalize(), Kind.SHARE) for one in Outcome),
    Column("open", "Open", Kind.COUNT),
)


def outcomes(store: Store, selection: Selection, *, tasks: str = "*", models: str = "*") -> Table:
    """One row per task and model: the number of answers, and the share of each outcome.

    ``open`` counts dialogues that still wait for an answer because the provider failed. ``tasks``
    and ``models`` are globs over labels and model ids. Raises
    :class:`~kgbench.errors.QueryError` where nothing fits.
    """
    known, names = fetch.tasks(store), fetch.models(store)
    counts = of_answers(store, selection)
    waiting: Counter[tuple[str, str]] = Counter()
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        waiting[row["model"].value, row["task"].value] += int(row["count"].value)
    rows = []
    for model, task in {*counts, *waiting}:
        about = known[task]
        if names.fits(model, models) and fnmatchcase(about.label, tasks):
            found = counts[model, task]
            n = sum(found.values())
            shares = (found[one.value] / n if n else None for one in Outcome)
            rows.append((about.name, names.name(model), n, *shares, waiting[model, task]))
    if not rows:
        raise QueryError(f"no answers fit the task '{tasks}' and the model '{models}'")
    return Table(
        title=f"Outcomes of answers ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (row[0], row[1]))),
        notes=("Open: dialogues that wait for an answer because the provider failed.",),
        queries=QUERIES,
        context=selection.context,
    )


def of_answers(
    store: Store, selection: Selection, model: str | None = None
) -> dict[tuple[str, str], Counter[str]]:
    """How many answers had which outcome, by model and task (IRIs); of one ``model`` if given."""
    selected = fetch.selection_test(store, selection)
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one, number in counting.outcomes(
        store, selection.pass_graphs, latest=selection.latest, model=model
    ):
        if one.round is not None and selected(one.model, one.task):  # whole dialogues have no round
            found[one.model, one.task][one.outcome] += number
    return defaultdict(Counter, {cell: +times for cell, times in found.items() if +times})
