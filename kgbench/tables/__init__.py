# SPDX-License-Identifier: Apache-2.0
"""Tables: the result of every analysis and the input of every output format."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias

from kgbench.characters import spreadsheet_safe
from kgbench.errors import QueryError, ResourceError, nearest

Value: TypeAlias = str | int | float | bool | None


class Ref(str):
    """A cell that names a resource: its label, which is the text, and its ``iri``."""

    __slots__ = ("iri",)

    iri: str

    def __new__(cls, label: str, iri: str) -> Self:
        """Make the reference ``label`` to ``iri``."""
        ref = super().__new__(cls, label)
        ref.iri = iri
        return ref

    def __reduce__(self) -> tuple[type[Ref], tuple[str, str]]:
        """Return how copies are made and pickles read."""
        return Ref, (str(self), self.iri)

    @classmethod
    def below(cls, base: str, iri: str) -> Self:
        """Return a reference to ``iri`` whose label is its path below ``base``."""
        return cls(iri.removeprefix(base), iri)

    def relabelled(self, label: str) -> Ref:
        """Return a reference to the same resource by another label."""
        return Ref(label, self.iri)


class Kind(StrEnum):
    """The kind of values in a column, which decides how they are written for people."""

    TEXT = "text"
    COUNT = "count"
    SCORE = "score"
    SHARE = "share"
    P = "p"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in data formats, its heading for people, and its kind of values."""

    name: str
    title: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table: columns, rows of values in the same order, notes, and its provenance.

    Numbers are unrounded. ``queries`` names the queries behind the values; ``context`` records
    the selection and the arguments (suite, pass, ...). A cell that names a resource is a
    :class:`Ref`. ``reason`` is the note that says why there are no rows (see :meth:`explained`);
    the other ``notes`` explain columns and methods.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    context: dict[str, Value] = field(default_factory=dict)
    reason: str | None = None

    @classmethod
    def of(
        cls,
        title: str,
        columns: Sequence[Column],
        records: Iterable[Mapping[str, Value]],
        **facts: Any,
    ) -> Table:
        """Make a table from cells by the names of ``columns``; a missing cell is ``None``.

        ``facts`` are its other attributes.
        """
        names = [column.name for column in columns]
        rows = tuple(tuple(record.get(name) for name in names) for record in records)
        return cls(title, tuple(columns), rows, **facts)

    def explained(self, reason: str) -> Table:
        """Return the table with ``reason``, unless it has rows or a reason already."""
        if self.rows or self.reason is not None:
            return self
        return replace(self, notes=(*self.notes, reason), reason=reason)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def iris(self) -> dict[str, dict[str, str]]:
        """The IRIs of resources by the names that cells have, by the names of columns."""
        found: dict[str, dict[str, str]] = {}
        for row in self.rows:
            for name, value in zip(self.names, row, strict=True):
                if isinstance(value, Ref):
                    found.setdefault(name, {})[str(value)] = value.iri
        return found

    def with_iris(self, iris: Mapping[str, Mapping[str, str]]) -> Table:
        """Return the table with references to ``iris``, by the names of columns and the texts."""
        known = [iris.get(name, {}) for name in self.names]
        return replace(
            self,
            rows=tuple(
                tuple(
                    Ref(str(value), at[str(value)]) if at and str(value) in at else value
                    for value, at in zip(row, known, strict=True)
                )
                for row in self.rows
            ),
        )

    def column(self, name: str) -> list[Value]:
        """Return the values of one column, from the first row to the last.

        Raises :class:`~kgbench.errors.QueryError`, with the nearest names, if there is none.

        >>> results = kgbench.open("kgbench-results")
        >>> results.leaderboard().column("rank")
        [1, 2]
        """
        index = self._index(name)
        return [row[index] for row in self.rows]

    def where(self, name: str, value: Value) -> Table:
        """Return the table with only the rows that have ``value`` in the column ``name``.

        >>> results = kgbench.open("kgbench-results")
        >>> len(results.tasks().where("model", "baseline:oracle"))
        6
        """
        index = self._index(name)
        return replace(self, rows=tuple(row for row in self.rows if row[index] == value))

    def only(self, *names: str) -> Table:
        """Return the table with only these columns, in this order.

        Raises :class:`~kgbench.errors.QueryError`, with the nearest names, if there is none.

        >>> results = kgbench.open("kgbench-results")
        >>> results.leaderboard().only("model", "rank").rows
        (('baseline:oracle', 1), ('baseline:silent', 2))
        """
        chosen = [self._index(name) for name in names]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in chosen),
            rows=tuple(tuple(row[index] for index in chosen) for row in self.rows),
        )

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise QueryError(f"the table has no column '{name}': {nearest(name, self.names)}")
        return self.names.index(name)

    def spreadsheet_safe(self) -> tuple[Table, int]:
        """Return the table without text that a spreadsheet would execute.

        The second value is the number of changed cells.
        """
        rows, differing = spreadsheet_safe(self.rows)
        return replace(self, rows=tuple(map(tuple, rows))), differing

    def records(self) -> list[dict[str, Value]]:
        """Return the rows as dictionaries by the names of columns.

        >>> results = kgbench.open("kgbench-results")
        >>> results.leaderboard().records()[0]["model"]
        'baseline:oracle'
        """
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def as_json(self) -> dict[str, Any]:
        """Return the table as a JSON object; :meth:`from_json` is the inverse."""
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
            **({} if self.reason is None else {"reason": self.reason}),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Table:
        """Return the table that :meth:`as_json` made ``value`` from."""
        return cls(
            title=value["title"],
            columns=tuple(Column(c["name"], c["title"], Kind(c["kind"])) for c in value["columns"]),
            rows=tuple(tuple(row) for row in value["rows"]),
            notes=tuple(value["notes"]),
            queries=tuple(value["queries"]),
            context=dict(value["context"]),
            reason=value.get("reason"),
        ).with_iris(value["iris"])

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """Yield the rows as dictionaries, from the first to the last."""
        return iter(self.records())

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __bool__(self) -> bool:
        """Return a table is always true, even without rows."""
        return True

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame with the same columns.

        Raises :class:`~kgbench.errors.ResourceError` where pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ModuleNotFoundError as error:
            raise ResourceError("pandas is not installed: pip install pandas") from error
        return pd.DataFrame(self.records(), columns=list(self.names))

    def __repr__(self) -> str:
        """Return the table as a terminal shows it."""
        return render(self, "table")

    def _repr_html_(self) -> str:
        """Return the table as HTML for a notebook; all recorded text is escaped."""
        from kgbench.tables.rendering import as_html

        return as_html(self)


def ranks(scores: Sequence[float | None]) -> list[int | None]:
    """Rank scores in descending order from 1; equal scores share the smallest rank.

    >>> ranks([0.5, 0.9, 0.5, None, 0.1])
    [2, 1, 2, None, 4]
    """
    ascending = sorted(s for s in scores if s is not None)
    best = len(ascending) + 1
    return [None if s is None else best - bisect_right(ascending, s) for s in scores]


def render(table: Table, form: str) -> str:
    """Return the table as text; see :func:`kgbench.tables.rendering.render`."""
    from kgbench.tables import rendering

    return rendering.render(table, form)
