# SPDX-License-Identifier: Apache-2.0
"""Tables of analyses for templates: links, bars, leaderboards, heat maps, scores by task.

All are made from tables of the analyses, so that pages, tables and figures show the same numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.rdf import queries
from kgbench.scores.inference import DIALOGUES
from kgbench.scores.selection import FIRST, Selection, select
from kgbench.tables import Column, Ref, Table, Value
from kgbench.tables.rendering import format_value

_TESTED = ("leads", "ci_low", "ci_high", "rank_low", "rank_high", "group")
_STEPS = 10  # steps of the heat scale
_WEB = ("http://", "https://")
T = TypeVar("T")
_MOST_VALUES = 200_000  # intervals over as many cases take some 10 s


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
