# SPDX-License-Identifier: Apache-2.0
"""Scores by task as pages need them: suite by suite, and the rows of one model or task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Table
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import things
from kgbench.pages.board import Bar, bar, estimand_of
from kgbench.pages.snapshot import View
from kgbench.rdf import queries


class Result(NamedTuple):
    """What one model reached on one task, in the results of the other of the two.

    ``name`` is how tables call the model or the task with this ``iri``, ``shown`` how people do.
    ``mean`` is that of ``n`` values of ``score``, ``low`` to ``high`` its interval, which
    generalises to ``about``.
    """

    iri: str
    name: str
    shown: str
    score: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    bar: Bar | None
    about: str | None = None


def selections(view: View) -> Iterator[tuple[str, str, Selection]]:
    """The suites that have scores: IRI, what people call it, and the scores that count."""
    for suite, *_ in queries.rows(view, "list-suites"):
        with contextlib.suppress(QueryError):  # a suite may have dialogues and no pass yet
            yield str(suite), things.label(view, str(suite)), select(view, suite)


def scores(view: View, chosen: Selection, **globs: str) -> Table | None:
    """Scores by task; ``None`` where a task has no main metric."""
    try:
        return task_scores(view, chosen, **globs)
    except QueryError:
        return None


def only(table: Table | None, column: str, value: str) -> Table | None:
    """The rows of a table that have ``value`` in ``column``."""
    if table is None:
        return None
    place = table.names.index(column)
    return replace(table, rows=tuple(row for row in table.rows if row[place] == value))


def literally(name: str) -> str:
    """A glob that only ``name`` fits."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def results(table: Table, shown: Mapping[str, str], column: str = "model") -> list[Result]:
    """The rows of one task, the best model first, or with ``column="task"`` those of one model.

    ``shown`` has the names to show. Tasks stay in the order of the table.
    """
    iris = table.iris.get(column, {})
    records: list[dict[str, Any]] = table.records()
    found = [
        Result(
            iris.get(record[column], ""),
            record[column],
            shown.get(record[column], record[column]),
            str(record["metric"]),
            record["mean"],
            record["ci_low"],
            record["ci_high"],
            int(record["n"] or 0),
            bar(record["mean"], record["ci_low"], record["ci_high"]),
            estimand_of(table),
        )
        for record in records
    ]
    if column != "model":
        return found
    return sorted(found, key=lambda one: (one.mean is None, -(one.mean or 0.0), one.name))
