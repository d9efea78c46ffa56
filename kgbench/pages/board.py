# SPDX-License-Identifier: Apache-2.0
"""The leaderboard and the heat map of scores by task, for templates.

Both are made from tables of the analyses, so that all pages, tables and figures show the same
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kgbench.analysis.tables import Table
from kgbench.pages.tables import linked_queries, short

_STEPS = 10  # steps of the heat scale


class Bar(NamedTuple):
    """A bar with a length from 0 to 100 and the ends of its interval."""

    length: float
    low: float | None
    high: float | None


class LeaderboardRow(NamedTuple):
    """A row of the leaderboard.

    ``model`` is the IRI of the model, ``name`` its name in tables, ``shown`` its display name.
    ``rank`` is ``None`` if the model was not scored on all tasks. ``leads`` says whether the
    difference from every better model may be due to chance; it is ``None`` without a test.
    """

    model: str
    name: str
    shown: str
    rank: int | None
    score: float | None
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    leads: bool | None
    n: int
    tasks: int
    failed: int
    not_judged: int
    unreadable: float | None
    bar: Bar | None
    group: str | None = None

    @property
    def between(self) -> str:
        """The range of ranks in words, with the letters of the model's groups."""
        if self.rank_low is None:
            return ""
        same = self.rank_low == self.rank_high
        ranks = str(self.rank_low) if same else f"{self.rank_low} to {self.rank_high}"
        return f"{ranks} ({self.group})" if self.group else ranks


class Board(NamedTuple):
    """A leaderboard: ranked models, and the number of tasks.

    ``about`` is the population that intervals and ranges of ranks generalise to.
    """

    title: str
    tasks: int
    places: list[LeaderboardRow]
    notes: tuple[str, ...]
    queries: list[tuple[str, dict[str, str]]]
    about: str | None = None

    @property
    def intervals(self) -> bool:
        """Whether the leaderboard has intervals or ranges of ranks."""
        return any(row.low is not None or row.rank_low is not None for row in self.places)


class HeatCell(NamedTuple):
    """A cell of the heat map: mean and number of scores, and the step on the heat scale.

    ``step`` is ``None`` for a mean that is not between 0 and 1.
    """

    mean: float | None
    n: int
    step: int | None

    @property
    def short(self) -> str:
        """The mean with two decimals and without the leading zero."""
        text = "" if self.mean is None else f"{self.mean:.2f}"
        return text[1:] if text.startswith("0.") else text


class Column(NamedTuple):
    """A task of the heat map.

    Its name is split at the first dash into ``kind``, which it shares with its neighbours, and
    ``rest``. ``first`` is set if the previous task is of another kind.
    """

    iri: str
    name: str
    kind: str
    rest: str
    first: bool


class HeatMap(NamedTuple):
    """Cells by model (IRI, name, display name) and task; each row has the order of ``tasks``."""

    tasks: list[Column]
    rows: list[tuple[tuple[str, str, str], list[HeatCell | None]]]
    queries: list[tuple[str, dict[str, str]]]


def board(table: Table, display_names: Mapping[str, str], suite: str | None) -> Board:
    """Convert the leaderboard ``table`` for templates; ``display_names`` is keyed by model."""
    iris = table.iris.get("model", {})
    records = table.records()
    tasks = max((int(record["tasks"] or 0) for record in records), default=0)
    return Board(
        table.title,
        tasks,
        [_row(record, iris, display_names) for record in records],
        table.notes,
        linked_queries(table, suite),
        estimand_of(table),
    )


def estimand_of(table: Table) -> str | None:
    """Return the population that the intervals of a table generalise to, in words."""
    label = table.context.get("estimand_label")
    return None if label is None else str(label)


def _row(
    record: Mapping[str, Any], iris: Mapping[str, str], display_names: Mapping[str, str]
) -> LeaderboardRow:
    name = str(record["model"])
    low, high = record.get("ci_low"), record.get("ci_high")
    return LeaderboardRow(
        model=iris.get(name, ""),
        name=name,
        shown=short(display_names.get(name, name)),
        rank=record["rank"],
        score=record["score"],
        low=low,
        high=high,
        rank_low=record.get("rank_low"),
        rank_high=record.get("rank_high"),
        leads=record.get("leads"),
        n=record["n"],
        tasks=record["tasks"],
        failed=record["failed"],
        not_judged=record["not_judged"],
        unreadable=record["unreadable"],
        bar=bar(record["score"], low, high),
        group=record.get("group"),
    )


def bar(value: float | None, low: float | None = None, high: float | None = None) -> Bar | None:
    """Return the bar of a score; ``None`` if it is missing or not between 0 and 1.

    >>> bar(0.5, 0.25, 0.75)
    Bar(length=50.0, low=25.0, high=75.0)
    """
    if value is None or not 0 <= value <= 1:
        return None
    ends = (None if end is None else round(100 * min(max(end, 0), 1), 2) for end in (low, high))
    return Bar(round(100 * value, 2), *ends)


def heat_map(
    table: Table, order: list[str], display_names: Mapping[str, str], suite: str
) -> HeatMap:
    """Convert a table of scores by task to a heat map, with the models in ``order`` first."""
    iris = table.iris.get("model", {})
    tasks = sorted(table.iris.get("task", {}).items())
    records: list[dict[str, Any]] = table.records()
    cells = {
        (record["model"], record["task"]): heat(record["mean"], record["n"]) for record in records
    }
    models = list(dict.fromkeys([*(model for model in order if model in iris), *sorted(iris)]))
    return HeatMap(
        _columns(tasks),
        [
            (
                (iris[model], model, short(display_names.get(model, model))),
                [cells.get((model, name)) for name, _ in tasks],
            )
            for model in models
        ],
        linked_queries(table, suite),
    )


def _columns(tasks: list[tuple[str, str]]) -> list[Column]:
    columns: list[Column] = []
    for name, iri in tasks:
        kind, dash, rest = name.partition("-")
        first = bool(columns) and columns[-1].kind != kind
        columns.append(Column(iri, name, kind, dash + rest, first))
    return columns


def heat(mean: float | None, n: int) -> HeatCell:
    """Return the cell of a mean over ``n`` scores."""
    if mean is None or not 0 <= mean <= 1:
        return HeatCell(mean, n, None)
    return HeatCell(mean, n, round(_STEPS * mean))
