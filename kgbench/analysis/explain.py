# SPDX-License-Identifier: Apache-2.0
"""Explanations of the cells of tables: the query, the scores and the dialogues behind a cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from kgbench.analysis import catalogue
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.scores import ROWS, score_rows
from kgbench.analysis.selection import Selection
from kgbench.analysis.superseding_metrics import SupersedingMetrics
from kgbench.analysis.tables import Column, Kind, Ref, Table, Value
from kgbench.analysis.worst import ScoredDialogue, worst
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.store.protocol import Store

SEPARATOR = "::"
QUERY = "score-rows"
PART_COLUMNS = (
    Column("part", "Part"),
    Column("metric", "Metric"),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("minimum", "Min", Kind.SCORE),
    Column("maximum", "Max", Kind.SCORE),
)
VALUE_COLUMNS = (
    Column("part", "Part"),
    Column("metric", "Metric"),
    Column("round", "Round", Kind.COUNT),
    Column("iteration", "Iteration", Kind.COUNT),
    Column("value", "Value", Kind.SCORE),
    Column("dialogue", "Dialogue"),
)
MOST_PARTS = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a cell of a table.

    ``values`` holds every value with its dialogue, ``parts`` their means, the lowest first, and
    ``worst`` the dialogues with the lowest scores. ``parameters`` are those of the query
    ``score-rows`` that returns these values.
    """

    model: str
    parts: Table
    values: Table
    worst: tuple[ScoredDialogue, ...]
    parameters: Mapping[str, queries.Value | Sequence[queries.Value] | None]

    def query(self, *, whole: bool) -> str:
        """Return the query behind the cell; long lists of values are cut unless ``whole``."""
        return queries.compact(queries.load(QUERY), None if whole else 1, **self.parameters)

    def first_parts(self) -> Table:
        """Return the parts with the lowest means, at most :data:`MOST_PARTS`."""
        hidden = len(self.parts.rows) - MOST_PARTS
        if hidden <= 0:
            return self.parts
        note = f"The {MOST_PARTS} parts with the lowest means; --all shows {hidden} more."
        return replace(self.parts, rows=self.parts.rows[:MOST_PARTS], notes=(note,))

    def as_json(self, *, whole: bool) -> dict[str, Any]:
        """Return the explanation as a JSON object; with the single values if ``whole``."""
        explanation = {
            "query": self.query(whole=True),
            "parts": self.parts.as_json(),
            "worst": [scored.as_json() for scored in self.worst],
        }
        return {**explanation, "values": self.values.as_json()} if whole else explanation


def explain(
    store: Store, selection: Selection, parts: Mapping[str, list[Score]], cell: str
) -> Explanation:
    """Explain a cell: its query, its parts, and its values with their dialogues.

    ``cell`` is ``MODEL`` or ``MODEL::PART``, where ``PART`` is a glob over the names in ``parts``
    (tasks, axes, pairs or levels). Raises :class:`~kgbench.errors.QueryError` for a cell that does
    not exist.
    """
    model_name, _, part_glob = cell.partition(SEPARATOR)
    model = catalogue.models(store).find(model_name)
    chosen = {
        name: set(scores) for name, scores in parts.items() if fnmatchcase(name, part_glob or "*")
    }
    if not any(chosen.values()):
        raise QueryError(f"no part matches '{part_glob}'; there are: {', '.join(sorted(parts))}")
    parts_of: dict[Score, list[str]] = defaultdict(list)
    for part, scores in chosen.items():
        for score in scores:
            parts_of[score].append(part)
    metrics = catalogue.metrics(store)
    needed_metrics = {score.metric for score in parts_of}
    values: list[ScoredDialogue] = []
    tasks: set[str] = set()
    for row in score_rows(store, selection, needed_metrics, model=model.iri):
        scores_of_row = {Score(row.task, row.metric, None), Score(row.task, row.metric, row.round)}
        for part in dict.fromkeys(
            part for score in scores_of_row for part in parts_of.get(score, ())
        ):
            tasks.add(row.task)
            values.append(
                ScoredDialogue(
                    part,
                    metrics[row.metric].name,
                    row.round,
                    row.iteration,
                    row.value,
                    Ref.below(store.iris.base, row.dialogue),
                    model.name,
                    metrics[row.metric].higher_is_better,
                )
            )
    values.sort(
        key=lambda value: (
            value.part,
            value.metric,
            value.iteration,
            value.round or 0,
            value.dialogue,
        )
    )
    context = {**selection.context, "cell": cell}
    return Explanation(
        model=model.name,
        parts=Table(
            title=f"{len(values)} values of {model.name}",
            columns=PART_COLUMNS,
            rows=tuple(_of_parts(values)),
            queries=ROWS,
            context=context,
        ),
        values=Table(
            title=f"All values of {model.name}",
            columns=VALUE_COLUMNS,
            rows=tuple(value[: len(VALUE_COLUMNS)] for value in values),
            queries=ROWS,
            context=context,
        ),
        worst=tuple(worst(values)),
        parameters={
            "model": model.iri,
            "passGraph": selection.pass_graphs,
            "metric": SupersedingMetrics(store, selection).with_later(needed_metrics),
            "task": sorted(tasks),
            "latest": selection.latest,
        },
    )


def _of_parts(values: Iterable[ScoredDialogue]) -> list[tuple[Value, ...]]:
    """Summarise values by part and metric, the lowest mean first."""
    grouped: dict[tuple[str, str], list[float]] = defaultdict(list)
    for value in values:
        grouped[value.part, value.metric].append(value.value)
    rows = []
    for (part, metric), group in grouped.items():
        of_part = Histogram.of(group)
        statistics = (of_part.n, of_part.mean, of_part.minimum, of_part.maximum)
        rows.append((part, metric, *statistics))
    return sorted(rows, key=lambda row: (row[3] or 0, row[0], row[1]))
