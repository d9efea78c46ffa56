# SPDX-License-Identifier: Apache-2.0
"""Tables: what every analysis returns and every output format starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from kgbench.characters import spreadsheet_safe
from kgbench.errors import ResourceError

Value: TypeAlias = str | int | float | bool | None


class Kind(StrEnum):
    """What a column holds, which decides how it is written for people."""

    TEXT = "text"
    COUNT = "count"
    SCORE = "score"
    SHARE = "share"
    P = "p"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in data formats, its heading for people, and what it holds."""

    name: str
    title: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table: columns, rows of values in their order, notes, and how it came about.

    Numbers are unrounded. ``queries`` names the queries it rests on; ``context`` says what was
    selected (suite, pass, arguments). ``iris`` holds, for a column of names, the IRIs behind them.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    context: dict[str, Value] = field(default_factory=dict)
    iris: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> list[Value]:
        """The values of one column, from the first row to the last.

        >>> results = kgbench.open("kgbench-results")
        >>> results.leaderboard().column("rank")
        [1, 2]
        """
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def where(self, name: str, value: Value) -> Table:
        """The same table with only the rows that have ``value`` in the column called ``name``.

        >>> results = kgbench.open("kgbench-results")
        >>> len(results.tasks().where("model", "baseline:oracle"))
        6
        """
        place = self.names.index(name)
        return replace(self, rows=tuple(row for row in self.rows if row[place] == value))

    def spreadsheet_safe(self) -> tuple[Table, int]:
        """The same table with no text that a spreadsheet runs, and how many cells differ."""
        rows, differing = spreadsheet_safe(self.rows)
        return replace(self, rows=tuple(map(tuple, rows))), differing

    def records(self) -> list[dict[str, Value]]:
        """The rows as dictionaries.

        >>> results = kgbench.open("kgbench-results")
        >>> results.leaderboard().records()[0]["model"]
        'baseline:oracle'
        """
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def as_json(self) -> dict[str, Any]:
        """The table as a JSON object; the inverse of :meth:`from_json`."""
        return {
            "title": self.title,
            "columns": [
                {"name": c.name, "title": c.title, "kind": str(c.kind)} for c in self.columns
            ],
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
            "queries": list(self.queries),
            "context": dict(sorted(self.context.items())),
            "iris": {name: dict(sorted(iris.items())) for name, iris in sorted(self.iris.items())},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Table:
        """The table that :meth:`as_json` was given."""
        return cls(
            title=value["title"],
            columns=tuple(Column(c["name"], c["title"], Kind(c["kind"])) for c in value["columns"]),
            rows=tuple(tuple(row) for row in value["rows"]),
            notes=tuple(value["notes"]),
            queries=tuple(value["queries"]),
            context=dict(value["context"]),
            iris={name: dict(iris) for name, iris in value["iris"].items()},
        )

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """The rows as dictionaries, from the first to the last."""
        return iter(self.records())

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def __bool__(self) -> bool:
        """A table is true even where it has no rows."""
        return True

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame, one column for each column.

        Raises :class:`~kgbench.errors.ResourceError` where pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ModuleNotFoundError as error:
            raise ResourceError("pandas is not installed: pip install pandas") from error
        return pd.DataFrame(self.records(), columns=list(self.names))

    def __repr__(self) -> str:
        """The table as a terminal shows it."""
        return render(self, "table")

    def _repr_html_(self) -> str:
        """The table for a notebook; everything recorded is escaped."""
        from kgbench.analysis.rendering import as_html

        return as_html(self)


def ranks(scores: Sequence[float | None]) -> list[int | None]:
    """Ranks by descending score, 1 is best; equal scores share the smallest rank.

    >>> ranks([0.5, 0.9, 0.5, None, 0.1])
    [2, 1, 2, None, 4]
    """
    present = [s for s in scores if s is not None]
    return [None if s is None else 1 + sum(other > s for other in present) for s in scores]


def render(table: Table, form: str) -> str:
    """The table as text; see :func:`kgbench.analysis.rendering.render`."""
    from kgbench.analysis import rendering

    return rendering.render(table, form)
