# SPDX-License-Identifier: Apache-2.0
"""The worst dialogues, and explanations of cells of tables by their parts and worst dialogues."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any, NamedTuple

from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.declared import score_set
from kgbench.scores.reading import ROWS, Score, SupersedingMetrics, histograms, score_rows
from kgbench.scores.selection import Selection
from kgbench.statistics.histogram import Histogram
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Ref, Table, Value

MOST = 5


class ScoredDialogue(NamedTuple):
    """A value of a metric with its dialogue.

    ``part`` is the name of a task, or of a part of an explained cell. ``dialogue`` is the path of
    the dialogue below the base of the store's IRIs. ``higher_is_better`` is that of the metric.
    """

    part: str
    metric: str
    round: int | None
    iteration: int
    value: float
    dialogue: str
    model: str
    higher_is_better: bool = True

    @property
    def badness(self) -> float:
        """A sort key for values of different metrics: the lowest is the worst.

        It is 1 minus the value for a metric whose lower values are better, so that 0 errors are as
        good as a full score of 1.
        """
        return badness(self.value, higher_is_better=self.higher_is_better)

    def as_json(self) -> dict[str, object]:
        """Return value, metric and dialogue as a JSON object."""
        return {name: getattr(self, name) for name in self._fields[:-1]}


def badness(value: float, *, higher_is_better: bool) -> float:
    """Return the sort key of a value; see :attr:`ScoredDialogue.badness`."""
    return value if higher_is_better else 1 - value


def worst(
    values: Iterable[ScoredDialogue],
    limit: int = MOST,
    of: Callable[[ScoredDialogue], Hashable] = attrgetter("dialogue"),
) -> list[ScoredDialogue]:
    """Return the ``limit`` dialogues with the worst values, the worst first, one for each ``of``.

    Equal values are sorted by iteration, so that they come from different parts.
    """
    # At most `limit` entries are kept, because a run may have a million dialogues.
    kept: dict[Hashable, ScoredDialogue] = {}
    for value in values:
        earlier = kept.pop(of(value), value)
        kept[of(value)] = min(value, earlier, key=_order)
        if len(kept) > limit:
            del kept[of(max(kept.values(), key=_order))]
    return sorted(kept.values(), key=_order)


def _order(scored: ScoredDialogue) -> tuple[float, int, str, str, int, str]:
    return (
        scored.badness,
        scored.iteration,
        scored.part,
        scored.model,
        scored.round or 0,
        scored.dialogue,
    )


def worst_dialogues(
    store: Store, selection: Selection, limit: int = MOST, *, varied: bool = True
) -> list[ScoredDialogue]:
    """Return the worst dialogues of a selection by the main metrics of their tasks.

    Dialogues with a full score are left out. If they are to be ``varied``, there is one for each
    model and task, and none of models that fail everywhere, if other models fail somewhere. Counts
    tell which values are the worst, so that only dialogues with these values are read, and none of
    a million with a full score.
    """
    found: list[ScoredDialogue] = []
    values: list[float] = []
    total, wanted = 0, limit
    by_level, shown = _levels(store, selection, varied=varied)
    of = attrgetter("model", "part") if varied else attrgetter("dialogue")
    levels = sorted(by_level.items())
    for number, (level, counts) in enumerate(levels, 1):
        values += counts
        total += counts.total()
        if total < wanted and number < len(levels):
            continue
        read = main_values(store, selection, values)
        bad = (value for value in read if value.badness <= level and value.model in shown)
        found = worst(bad, limit, of)
        if len(found) == limit:
            break
        wanted = 2 * total  # a dialogue can have several values
    return found


def _levels(
    store: Store, selection: Selection, *, varied: bool
) -> tuple[dict[float, Counter[float]], frozenset[str]]:
    """Return the values of main metrics below a full score with their counts, by badness.

    They are those of the models that are returned, too: if they are to be ``varied``, of models
    that solve some dialogues and fail others, if there are any, else of all.
    """
    metrics, models = catalogue.metrics(store), catalogue.models(store)
    of_models: dict[str, dict[float, Counter[float]]] = defaultdict(lambda: defaultdict(Counter))
    for model, by_score in histograms(store, selection, _main_scores(store, selection)).items():
        for score, histogram in by_score.items():
            for value, times in histogram.counts.items():
                level = badness(value, higher_is_better=metrics[score.metric].higher_is_better)
                of_models[model][level][value] += times
    able = {model for model, levels in of_models.items() if max(levels) > 0 and min(levels) < 1}
    models_shown = (varied and able) or of_models
    chosen: dict[float, Counter[float]] = defaultdict(Counter)
    for model in models_shown:
        for level, counts in of_models[model].items():
            if level < 1:
                chosen[level] += counts
    return chosen, frozenset(models.name(model) for model in models_shown)


def _main_scores(store: Store, selection: Selection) -> list[Score]:
    """Return the main scores of the selected tasks."""
    tasks = catalogue.tasks(store).items()
    chosen = {iri: task for iri, task in tasks if task.fits(selection.tasks)}
    return score_set("main").scores(chosen, catalogue.metrics(store))


def main_values(
    store: Store,
    selection: Selection,
    values: Sequence[float] | None = None,
    dialogues: Sequence[str] | None = None,
) -> Iterator[ScoredDialogue]:
    """Yield the values of the main metric of every task, each with its dialogue.

    ``values`` are the wanted ones, a hint by which the engine reads less. ``dialogues`` (IRIs)
    restricts them to a few dialogues.
    """
    tasks, metrics, models = (
        catalogue.tasks(store),
        catalogue.metrics(store),
        catalogue.models(store),
    )
    main_scores = set(_main_scores(store, selection))
    main_metrics = {score.metric for score in main_scores}
    for row in score_rows(store, selection, main_metrics, values=values, dialogues=dialogues):
        if Score(row.task, row.metric) in main_scores:
            metric = metrics[row.metric]
            yield ScoredDialogue(
                tasks[row.task].name,
                metric.name,
                row.round,
                row.iteration,
                row.value,
                row.dialogue.removeprefix(store.iris.base),
                models.name(row.model),
                metric.higher_is_better,
            )


def show_line(scored: ScoredDialogue, location: str | None, *, model: bool = False) -> str:
    """Return a command that shows the dialogue, with its value as a comment.

    ``location`` is the location of the store, ``None`` for the default store. With ``model``, the
    comment names the model.

    >>> show_line(ScoredDialogue("Pick", "f1", None, 0, 0.5, "run/1/m/Pick/0", "m"), "my store")
    "kgbench show run/1/m/Pick/0 --store 'my store'  # 0.500 f1 of Pick"
    """
    where = f" --store {shlex.quote(location)}" if location is not None else ""
    round_ = f", round {scored.round}" if scored.round else ""
    origin = f"{scored.part} by {scored.model}" if model else scored.part
    comment = f"{scored.value:.3f} {scored.metric} of {origin}{round_}"
    return f"kgbench show {shlex.quote(scored.dialogue)}{where}  # {comment}"


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
