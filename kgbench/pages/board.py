# SPDX-License-Identifier: Apache-2.0
"""The leaderboard and the heat map of scores by task, for templates.

Both are made from tables of the analyses, so that all pages, tables and figures show the same
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kgbench.pages.tables import linked_queries, short
from kgbench.tables import Ref, Table

_TESTED = ("leads", "ci_low", "ci_high", "rank_low", "rank_high", "group")
_STEPS = 10  # steps of the heat scale


class Bar(NamedTuple):
    """A bar with a length from 0 to 100 and the ends of its interval."""

    length: float
    low: float | None
    high: float | None


class Board(NamedTuple):
    """A leaderboard: ranked models, and the number of tasks.

    A place is a record of the table, with the IRI and the display name of its model (``iri``,
    ``shown``), a ``bar``, and its range of ranks in words (``between``).
    ``about`` is the population that intervals and ranges of ranks generalise to.
    """

    title: str
    tasks: int
    places: list[dict[str, Any]]
    notes: tuple[str, ...]
    queries: list[tuple[str, dict[str, str]]]
    about: str | None = None

    @property
    def intervals(self) -> bool:
        """Whether the leaderboard has intervals or ranges of ranks."""
        return any(
            place[end] is not None for place in self.places for end in ("ci_low", "rank_low")
        )


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
    records = table.records()
    return Board(
        table.title,
        max((int(str(record["tasks"] or 0)) for record in records), default=0),
        [_place(record, display_names) for record in records],
        table.notes,
        linked_queries(table, suite),
        estimand_of(table),
    )


def estimand_of(table: Table) -> str | None:
    """Return the population that the intervals of a table generalise to, in words."""
    label = table.context.get("estimand_label")
    return None if label is None else str(label)


def _place(record: Mapping[str, Any], display_names: Mapping[str, str]) -> dict[str, Any]:
    model = record["model"]
    return {
        **dict.fromkeys(_TESTED),
        **record,
        "iri": model.iri if isinstance(model, Ref) else None,
        "shown": short(display_names.get(model, model)),
        "bar": bar(record["score"], record.get("ci_low"), record.get("ci_high")),
        "between": _between(record),
    }


def _between(record: Mapping[str, Any]) -> str:
    """Return the range of ranks in words, with the letters of the model's groups."""
    low, high, group = (record.get(name) for name in ("rank_low", "rank_high", "group"))
    if low is None:
        return ""
    ranks = str(low) if low == high else f"{low} to {high}"
    return f"{ranks} ({group})" if group else ranks


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
