# SPDX-License-Identifier: Apache-2.0
"""Tables of analyses for templates: links, bars, leaderboards and heat maps.

All are made from tables of the analyses, so that pages, tables and figures show the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kgbench.scores.selection import FIRST
from kgbench.tables import Column, Ref, Table, Value
from kgbench.tables.rendering import format_value

_TESTED = ("leads", "ci_low", "ci_high", "rank_low", "rank_high", "group")
_STEPS = 10  # steps of the heat scale
_WEB = ("http://", "https://")


class Bar(NamedTuple):
    """A bar with a length from 0 to 100 and the ends of its interval."""

    length: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Board:
    """A leaderboard: its table, and the places of the ranked models.

    A place is a record of the table, with the IRI and the display name of its model (``iri``,
    ``shown``), a ``bar``, and its range of ranks in words (``between``).
    """

    table: Table
    places: list[dict[str, Any]]

    @property
    def tasks(self) -> int:
        """The greatest number of tasks that a model was scored on."""
        return max((int(str(place["tasks"] or 0)) for place in self.places), default=0)

    @property
    def estimand(self) -> str | None:
        """The population that intervals and ranges of ranks generalise to."""
        return estimand_of(self.table)

    @property
    def intervals(self) -> bool:
        """Whether the leaderboard has intervals or ranges of ranks."""
        return any(
            place[end] is not None for place in self.places for end in ("ci_low", "rank_low")
        )


class Task(NamedTuple):
    """A task of the heat map.

    Its name is split at the first dash into ``kind``, which it shares with its neighbours, and
    ``rest``. ``first`` is set if the previous task is of another kind.
    """

    name: Ref
    kind: str
    rest: str
    first: bool


class HeatMap(NamedTuple):
    """The records of a table by model (name, display name) and task, in the order of ``tasks``."""

    table: Table
    tasks: list[Task]
    rows: list[tuple[Ref, str, list[dict[str, Any] | None]]]


def board(table: Table, display_names: Mapping[str, str]) -> Board:
    """Convert the leaderboard ``table`` for templates; ``display_names`` is keyed by model."""
    return Board(
        table,
        [
            {
                **dict.fromkeys(_TESTED),
                **record,
                "iri": resource(model := record["model"]),
                "shown": short(display_names.get(str(model), str(model))),
                "bar": bar(*(record.get(name) for name in ("score", "ci_low", "ci_high"))),
                "between": _between(record),
            }
            for record in table.records()
        ],
    )


def estimand_of(table: Table) -> str | None:
    """Return the population that the intervals of a table generalise to, in words."""
    label = table.context.get("estimand_label")
    return None if label is None else str(label)


def _between(record: Mapping[str, Any]) -> str:
    """Return the range of ranks in words, with the letters of the model's groups."""
    low, high, group = (record.get(name) for name in ("rank_low", "rank_high", "group"))
    if low is None:
        return ""
    ranks = str(low) if low == high else f"{low} to {high}"
    return f"{ranks} ({group})" if group else ranks


def bar(value: Any, low: Any = None, high: Any = None) -> Bar | None:
    """Return the bar of a score; ``None`` if it is missing or not between 0 and 1.

    >>> bar(0.5, 0.25, 0.75)
    Bar(length=50.0, low=25.0, high=75.0)
    """
    if value is None or not 0 <= value <= 1:
        return None
    ends = (None if end is None else round(100 * min(max(end, 0), 1), 2) for end in (low, high))
    return Bar(round(100 * value, 2), *ends)


def heat_map(table: Table, order: list[str], display_names: Mapping[str, str]) -> HeatMap:
    """Convert a table of scores by task to a heat map, with the models in ``order`` first."""
    records: list[dict[str, Any]] = table.records()
    cells = {(record["model"], record["task"]): record for record in records}
    models: dict[str, Ref] = {model: model for model, _ in cells if isinstance(model, Ref)}
    names = sorted({task for _, task in cells if isinstance(task, Ref)})
    kinds = [name.partition("-") for name in names]
    return HeatMap(
        table,
        [
            Task(name, kind, dash + rest, bool(k) and kinds[k - 1][0] != kind)
            for k, (name, (kind, dash, rest)) in enumerate(zip(names, kinds, strict=True))
        ],
        [
            (
                models[model],
                short(display_names.get(model, model)),
                [cells.get((model, name)) for name in names],
            )
            for model in dict.fromkeys([*(m for m in order if m in models), *sorted(models)])
        ],
    )


def heat(mean: float) -> str:
    """Return the style class of a mean on the heat scale: ``unscaled`` if it is not in 0 to 1."""
    return f"heat-{round(_STEPS * mean)}" if 0 <= mean <= 1 else "unscaled"


def resource(value: object) -> str | None:
    """Return the IRI of the resource that a cell names, or is."""
    if isinstance(value, Ref):
        return value.iri
    return value if isinstance(value, str) and value.startswith(_WEB) else None


def shown(value: Value, column: Column) -> str:
    """Return the text of a cell, with only the end of an IRI."""
    return short(format_value(value, column))


def short(text: str) -> str:
    """Return the last two path segments of an IRI; other texts unchanged."""
    return "/".join(text.rsplit("/", 2)[1:]) if text.startswith(_WEB) else text


def asked(table: Table) -> list[tuple[str, dict[str, str]]]:
    """Return the queries behind a table, with the suite, run and pass that the table covers."""
    covered = {name: table.context.get(name) for name in ("suite", "run", "pass")}
    if covered["pass"] == FIRST:  # the default of links
        covered["pass"] = None
    parameters = {name: str(value) for name, value in covered.items() if value is not None}
    return [(name, parameters) for name in table.queries]
