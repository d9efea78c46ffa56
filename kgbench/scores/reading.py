# SPDX-License-Identifier: Apache-2.0
"""Reading of scores from a store, by declared queries: by task, by case, or one by one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo
from kgbench.scores.selection import Selection
from kgbench.statistics.histogram import Histogram
from kgbench.store.protocol import Store

#: The queries by which an analysis chooses its scores and names tasks, metrics and models.
CHOOSING = ("list-passes", "list-suites", "list-tasks", "list-metrics", "list-models")
BY_TASK = ("score-histograms", "superseding-metrics")
BY_CASE = ("case-histograms", "superseding-metrics")
ROWS = ("score-rows", "superseding-metrics")
MOST_PAIRS = 5_000  # of graphs with metrics, or dialogues, in a query; each needs 10 kB of memory
_FEW_METRICS = 40  # up to this number, looking up each is faster than reading all scores
_FEW_VALUES = 20
_NARROW = 3  # models or tasks named in a query, whose parameters are combined with each other


class Score(NamedTuple):
    """One metric on one task (IRIs); with ``round``, only of the answers in that round."""

    task: str
    metric: str
    round: int | None = None


class ScoreRow(NamedTuple):
    """One score with its model, task, metric, case, dialogue and evaluation (IRIs)."""

    model: str
    task: str
    metric: str
    round: int | None
    case: str
    iteration: int
    value: float
    dialogue: str
    evaluation: str


def histograms(
    store: Store, selection: Selection, scores: Iterable[Score]
) -> dict[str, dict[Score, Histogram]]:
    """Read the values of every model (IRI) for the wanted scores.

    It takes one query per round, whatever the number of metrics.
    """
    wanted = set(scores)
    counts: dict[str, dict[Score, Counter[float]]] = defaultdict(lambda: defaultdict(Counter))
    for round_ in sorted({s.round for s in wanted}, key=lambda r: (r is not None, r)):
        metrics = {s.metric for s in wanted if s.round == round_}
        for model, of_all, row in read_scores(
            store, selection, "score-histograms", metrics, round=round_
        ):
            score = of_all._replace(round=round_)
            if score in wanted:
                counts[model][score][float(row["value"].value)] += int(row["count"].value)
    return {
        model: {score: Histogram(values) for score, values in of_model.items()}
        for model, of_model in counts.items()
    }


def score_rows(
    store: Store,
    selection: Selection,
    metrics: Iterable[str],
    *,
    model: str | None = None,
    values: Sequence[float] | None = None,
    dialogues: Sequence[str] | None = None,
) -> Iterator[ScoreRow]:
    """Yield every single value of ``metrics`` (IRIs), of one ``model`` (IRI) if given.

    ``values`` are the wanted ones, a hint by which the engine reads less; other values may come.
    ``dialogues`` (IRIs) restricts them to a few dialogues.
    """
    narrowed: dict[str, Any] = {"dialogue": dialogues}
    if values is not None and len(values) <= _FEW_VALUES:
        narrowed["value"] = values
    if model is not None:
        narrowed["model"] = model
    for of_model, score, row in read_scores(store, selection, "score-rows", metrics, **narrowed):
        yield ScoreRow(
            of_model,
            score.task,
            score.metric,
            round_of(row),
            row["case"].value,
            int(row["iteration"].value),
            float(row["value"].value),
            row["dialogue"].value,
            row["evaluation"].value,
        )


def read_scores(
    store: Store, selection: Selection, query: str, metrics: Iterable[str], **parameters: Any
) -> Iterator[tuple[str, Score, Any]]:
    """Run a query of scores for ``metrics`` (IRIs); yield each row with its model and its score.

    Scores of a re-evaluation by a superseding metric belong to the earlier one. Many passes are
    read one part after the other, so rows of a model and a score may come several times.
    """
    wanted, later = set(metrics), SupersedingMetrics(store, selection)
    selected, queried = selection_test(store, selection), later.with_later(wanted)
    dialogues = parameters.get("dialogue")
    metric = queried if dialogues is None and len(queried) <= _FEW_METRICS else None
    narrowed = {**narrowing(store, selection, dialogues), **parameters}

    @cache  # scores are few, and rows may be millions
    def score_of(model: str, task: str, recorded: str) -> Score | None:
        of_task = later.of_task(task, recorded)
        return Score(task, of_task) if of_task in wanted and selected(model, task) else None

    combined = (metric, dialogues, narrowed.get("value"))
    most = max(MOST_PAIRS // math.prod(len(one) for one in combined if one), 1)
    for start in range(0, len(selection.pass_graphs), most):
        narrowed["passGraph"] = list(selection.pass_graphs[start : start + most])
        for row in queries.run(store, query, metric=metric, latest=selection.latest, **narrowed):
            of_model = row["model"].value
            score = score_of(of_model, row["task"].value, row["metric"].value)
            if score is not None:
                yield of_model, score, row


def round_of(row: Any) -> int | None:
    """Return the round of a row; ``None`` is the whole dialogue."""
    return None if row["round"] is None else int(row["round"].value)


def selection_test(store: Store, selection: Selection) -> Callable[[str, str], bool]:
    """Return a predicate of model and task (IRIs): whether their scores are selected.

    Raises :class:`~kgbench.errors.QueryError` where a glob matches no task or model of the store.
    """
    if not selection.narrowed.keys() & {"model", "task"}:
        return lambda _model, _task: True
    chosen_models, chosen_tasks = _selected(store, selection)
    return lambda model, task: model in chosen_models and task in chosen_tasks


def narrowing(
    store: Store, selection: Selection, dialogues: Sequence[str] | None = None
) -> dict[str, list[str] | None]:
    """Return values for the parameters ``model`` and ``task`` of a query, by which it reads less.

    A value is ``None`` unless the glob of the selection matches few models or tasks, which an
    engine finds faster than by a full scan, or if there are ``dialogues`` (IRIs), which it finds
    faster still. Rows must still pass :func:`selection_test`.
    """
    values: dict[str, list[str] | None] = {"model": None, "task": None}
    if dialogues is not None or not selection.narrowed.keys() & values.keys():
        return values
    models_, tasks_ = _selected(store, selection)
    for name, iris in (("model", models_), ("task", tasks_)):
        if name in selection.narrowed and len(iris) <= _NARROW:
            values[name] = sorted(iris)
    return values


def _selected(store: Store, selection: Selection) -> tuple[set[str], set[str]]:
    """Return the models and tasks (IRIs) that the globs of a selection match."""
    all_models, all_tasks = catalogue.models(store), catalogue.tasks(store)
    chosen_models: set[str] = set()
    for glob in catalogue.several(selection.models):
        fitting = {iri for iri in all_models if all_models.fits(iri, glob)}
        names = [model.name for model in all_models.values()]
        chosen_models |= _not_empty(fitting, "model", glob, names)
    chosen_tasks = {iri for iri, task in all_tasks.items() if task.fits(selection.tasks)}
    names = [task.name for task in all_tasks.values()]
    return chosen_models, _not_empty(chosen_tasks, "task label", selection.tasks, names)


def _not_empty(chosen: set[str], kind: str, glob: str, known: list[str]) -> set[str]:
    if not chosen:
        raise QueryError(f"no {kind} matches '{glob}'; there are: {', '.join(sorted(known))}")
    return chosen


class SupersedingMetrics:
    """The superseding metrics in the passes of a selection."""

    def __init__(self, store: Store, selection: Selection) -> None:
        rows = queries.rows(store, "superseding-metrics", passGraph=list(selection.pass_graphs))
        self._earlier = {(task, metric): earlier for task, metric, earlier in rows}

    def with_later(self, metrics: Iterable[str]) -> list[str]:
        """Return ``metrics`` (IRIs) together with the metrics that supersede them, sorted."""
        earlier_metrics = set(metrics)
        return sorted(
            earlier_metrics
            | {
                str(later)
                for (_, later), earlier in self._earlier.items()
                if earlier in earlier_metrics
            }
        )

    def of_task(self, task: str, metric: str) -> str:
        """Return the metric of ``task`` that ``metric`` supersedes; usually ``metric`` itself."""
        return self._earlier.get((task, metric)) or metric


class Item(NamedTuple):
    """A case of a task (IRIs). The same case in two tasks is two items."""

    task: str
    case: str


@dataclass(frozen=True)
class Answers:
    """The values of a model on an item: the count of each value, and a dialogue (IRI) with it.

    Memory grows with the number of distinct values, not with the repetitions.
    """

    counts: dict[float, int] = field(default_factory=dict)
    dialogues: dict[float, str] = field(default_factory=dict)

    @cached_property
    def values(self) -> Histogram:
        """All values; only valid after the last :meth:`add`, because it is cached."""
        return Histogram(self.counts)

    def add(self, value: float, count: int, dialogue: str) -> None:
        """Add ``count`` equal values; ``dialogue`` is the first dialogue with the value."""
        self.counts[value] = self.counts.get(value, 0) + count
        self.dialogues[value] = min(dialogue, self.dialogues.get(value, dialogue))

    def solved(self, metric: MetricInfo, success: float) -> int:
        """Count the values that reach the threshold ``success``."""
        return metric.successes(self.counts, success)


Repetitions: TypeAlias = dict[Item, dict[str, Answers]]
"""The values of each item, by the IRI of the model."""


def repetitions(store: Store, selection: Selection, chosen: Mapping[str, Score]) -> Repetitions:
    """Read the values of the score that ``chosen`` has for each task (IRI), in the order of tasks.

    Values are counted by case, so memory grows with cases and models, not with dialogues. Dialogues
    that failed or were not judged have no value.
    """
    by_item: Repetitions = defaultdict(lambda: defaultdict(Answers))
    metrics = {score.metric for score in chosen.values()}
    for model, (task, metric, _), row in read_scores(store, selection, "case-histograms", metrics):
        score = chosen.get(task)
        if score is None or score.metric != metric:
            continue
        if score.round in (None, round_of(row)):
            answers = by_item[Item(task, row["case"].value)][model]
            value, count = float(row["value"].value), int(row["count"].value)
            answers.add(value, count, row["dialogue"].value)
    names = {iri: task.name for iri, task in catalogue.tasks(store).items()}
    ordered = sorted(by_item, key=lambda item: (names[item.task], item))
    return {item: dict(sorted(by_item[item].items())) for item in ordered}


def threshold(metric: MetricInfo, solved: float | None) -> float | None:
    """Return the least score of a success: ``solved`` if given, else the declared threshold."""
    return metric.success if solved is None else solved


def undeclared_note(metrics: Mapping[str, MetricInfo]) -> str:
    """Return a note on the metrics (by IRI) without a declared success threshold."""
    names = ", ".join(sorted({f"{metric.name}" for metric in metrics.values()}))
    return (
        f"No success threshold is declared for {names}, so nothing counts as solved: set one "
        f"with --solved."
    )
