# SPDX-License-Identifier: Apache-2.0
"""Tables of scores by task for pages: per suite, and rows of one model or task."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import things
from kgbench.pages.board import bar, estimand_of
from kgbench.pages.snapshot import View
from kgbench.rdf import queries
from kgbench.scores.inference import DIALOGUES
from kgbench.scores.selection import Selection, select
from kgbench.tables import Ref, Table

T = TypeVar("T")
_MOST_VALUES = 200_000  # intervals over as many cases take some 10 s


def selections(view: View) -> list[tuple[str, str, Selection]]:
    """Return the suites with scores: IRI, label, and the scores that count."""
    return kept(view, ("selections",), lambda: list(_selections(view)))


def kept(view: View, key: tuple[str, ...], compute: Callable[[], T]) -> T:
    """Return what ``compute`` returns, from the cache of a view that has one."""
    if view.tables is None:
        return compute()
    if key not in view.tables:
        view.tables[key] = compute()
    found: T = view.tables[key]
    return found


def _selections(view: View) -> Iterator[tuple[str, str, Selection]]:
    for suite, *_ in queries.rows(view, "list-suites"):
        with contextlib.suppress(QueryError):  # a suite may have dialogues and no pass yet
            yield str(suite), things.label(view, str(suite)), select(view, suite)


def scores(view: View, chosen: Selection) -> Table | None:
    """Return the table of scores by task; ``None`` if a task has no main metric.

    Intervals are over cases, but over dialogues where there are too many values for a page.
    """
    try:
        over_dialogues = task_scores(view, chosen, estimand=DIALOGUES)
        if are_many(over_dialogues):
            return over_dialogues
        return task_scores(view, chosen)
    except QueryError:
        return None


def of_one(view: View, chosen: Selection, column: str, iri: str, name: str) -> Table | None:
    """Return the scores by task of one model or task, by its IRI and its name in ``column``."""
    if view.tables is None:
        one = replace(chosen, models=iri) if column == "model" else replace(chosen, tasks=iri)
        return only(scores(view, one), column, name)
    return only(of_all(view, chosen), column, name)


def of_all(view: View, chosen: Selection) -> Table | None:
    """Return the :func:`scores` of all models and tasks of a suite, from the cache if there is."""
    return kept(view, ("scores", chosen.suite), lambda: scores(view, chosen))


def are_many(table: Table) -> bool:
    """Return whether intervals over cases of the values in a table take too long for a page."""
    return sum(int(str(number)) for number in table.column("n")) > _MOST_VALUES


def only(table: Table | None, column: str, value: str) -> Table | None:
    """Return the rows of a table that have ``value`` in ``column``."""
    if table is None:
        return None
    index = table.names.index(column)
    return replace(table, rows=tuple(row for row in table.rows if row[index] == value))


def exact_glob(name: str) -> str:
    """Return a glob that matches only ``name``."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def results(
    table: Table, display_names: Mapping[str, str], column: str = "model"
) -> list[dict[str, Any]]:
    """Return the records of one task, the best model first; with ``column="task"``, of one model.

    Each has the IRI, the name and the display name of the model or task (``iri``, ``name``,
    ``shown``), a ``bar``, and the ``estimand`` of its interval. ``display_names`` is keyed by name
    in tables. Tasks keep the order of the table.
    """
    estimand = estimand_of(table)
    records: list[dict[str, Any]] = table.records()
    rows = [
        {
            **record,
            "iri": subject.iri if isinstance(subject := record[column], Ref) else None,
            "name": subject,
            "shown": display_names.get(str(subject), subject),
            "bar": bar(*(record[name] for name in ("mean", "ci_low", "ci_high"))),
            "estimand": estimand,
        }
        for record in records
    ]
    if column != "model":
        return rows
    return sorted(rows, key=lambda row: (row["mean"] is None, -(row["mean"] or 0.0), row["name"]))
