# SPDX-License-Identifier: Apache-2.0
"""Fetching scores from a store, cell by cell, and the names that tables show for IRIs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from kgbench.analysis import counting
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.intervals import UNBOUNDED, Bounds
from kgbench.analysis.once import once
from kgbench.analysis.selection import ALL, Selection
from kgbench.analysis.superseded import Superseded
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.record import counted
from kgbench.reevaluation.comparison import TOLERANCE
from kgbench.store.protocol import Store

#: The queries by which an analysis chooses its scores and names what they are of.
CHOOSING = ("list-passes", "list-suites", "list-tasks", "list-metrics", "list-models")
HISTOGRAMS = (*counting.VALUES, "superseding-metrics")
ROWS = ("score-rows", "superseding-metrics")
CASES = (*counting.CASES, "superseding-metrics")
SINGLE = (*counting.SINGLE, "superseding-metrics")
ERRORS = ("failed-dialogues", *counting.OUTCOMES)
_NARROW = 3  # models, and tasks, that a query names: the values of its parameters are multiplied
NOT_JUDGED = frozenset({"evaluator-error", "timeout"})
UNREADABLE = frozenset({"unparsable", "empty"})


class Cell(NamedTuple):
    """The scores of one model on one task by one metric; ``round`` only where one was asked for."""

    model: str
    task: str
    metric: str
    round: int | None = None


class ScoreRow(NamedTuple):
    """One score: whose it is, on what it was reached, and in which dialogue and evaluation."""

    model: str
    task: str
    metric: str
    round: int | None
    case: str
    iteration: int
    value: float
    dialogue: str
    evaluation: str


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task as the catalogue describes it. ``name`` is its label, made unique within the store."""

    iri: str
    name: str
    label: str
    task_class: str
    class_name: str
    version: str
    rounds: int
    main_metric: str | None
    size: int | None

    def fits(self, glob: str) -> bool:
        """Whether the task's label, name or IRI is ``glob``, or its label matches it."""
        return glob in (self.label, self.name, self.iri) or fnmatchcase(self.label, glob)


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """A metric as the catalogue describes it; ``base`` is the IRI of what it aggregates."""

    iri: str
    name: str
    task_class: str
    higher_is_better: bool
    aggregation: str | None
    base: str | None
    bounds: Bounds = UNBOUNDED
    threshold: float | None = None

    @property
    def success(self) -> float | None:
        """The value from which an answer is a success: the declared one, or the best of the range.

        ``None`` where the metric declares neither (``kgb:successThreshold``).
        """
        if self.threshold is not None:
            return self.threshold
        return self.bounds.high if self.higher_is_better else self.bounds.low

    def succeeds(self, value: float, threshold: float) -> bool:
        """Whether a value is a success by a threshold; what differs by rounding alone counts."""
        ahead = value - threshold if self.higher_is_better else threshold - value
        return ahead >= -TOLERANCE


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as the catalogue describes it. ``name`` is its label, made unique in the store."""

    iri: str
    name: str
    id: str


class Models(dict[str, ModelInfo]):
    """The models of a store, by IRI."""

    def name(self, iri: str) -> str:
        """How tables call a model, or a reviewer; one that the catalogue lacks by its IRI."""
        if iri in self:
            return self[iri].name
        _, found, pseudonym = iri.rpartition("/reviewer/")
        return f"{pseudonym} (person)" if found else iri

    def fits(self, iri: str, glob: str) -> bool:
        """Whether id or name of a model match ``glob``, or its IRI is that; an unknown one does.

        A name without wildcards also means the model whose id is that name behind a connector:
        ``gpt-4o`` is ``openai:gpt-4o``.
        """
        info = self.get(iri)
        if info is None or glob in (info.id, info.name, iri):
            return True
        called = (info.id, info.name, info.id.partition(":")[2])
        return any(fnmatchcase(name, glob) for name in called)

    def find(self, name: str) -> ModelInfo:
        """The model with this name, id or IRI.

        Raises :class:`~kgbench.errors.QueryError` where there is none.
        """
        for named in (
            lambda m: name in (m.name, m.iri),  # the exact name before ids that several share
            lambda m: name == m.id,
            lambda m: name == m.id.partition(":")[2],
        ):
            if found := list(filter(named, self.values())):
                break
        if len(found) != 1:
            there_are = ", ".join(sorted(model.name for model in self.values()))
            raise QueryError(f"'{name}' is no model in the store; there are: {there_are}")
        return found[0]


class Errors(NamedTuple):
    """What went wrong with the dialogues of one model on one task.

    ``failed``: the provider gave no answer. ``not_judged``: the judge failed or ran out of time.
    ``unreadable``: the answer was empty or could not be parsed (it was judged all the same).
    """

    failed: int = 0
    not_judged: int = 0
    unreadable: int = 0

    def __add__(self, other: object) -> Errors:
        assert isinstance(other, Errors)
        return Errors(*(a + b for a, b in zip(self, other, strict=True)))


def histograms(
    store: Store, selection: Selection, metrics: Iterable[str], *, round_: int | None = None
) -> dict[Cell, Histogram]:
    """The values of ``metrics`` (IRIs) per model and task; with ``round_``, those of one round."""
    wanted = set(metrics)
    later = Superseded(store, selection)
    found: dict[Cell, dict[float, int]] = defaultdict(lambda: defaultdict(int))
    selected = selection_test(store, selection)
    asked = later.with_later(wanted)
    for (model, task, metric), value, times in counting.values(store, selection, asked, round_):
        of_task = later.of_task(task, metric)
        if of_task in wanted and selected(model, task):
            found[Cell(model, task, of_task, round_)][value] += times
    reached = {cell: {v: n for v, n in values.items() if n} for cell, values in found.items()}
    return {cell: Histogram(values) for cell, values in reached.items() if values}


def score_rows(
    store: Store, selection: Selection, metrics: Iterable[str], *, model: str | None = None
) -> Iterator[ScoreRow]:
    """Every single value of ``metrics`` (IRIs), of one ``model`` (IRI) if given."""
    later = Superseded(store, selection)
    selected = selection_test(store, selection)
    narrowed = narrowing(store, selection)
    asked = later.with_later(metrics)
    wanted = set(asked)
    for row in queries.run(
        store,
        "score-rows",
        passGraph=list(selection.pass_graphs),
        metric=counting.named(asked, selection.pass_graphs),
        model=narrowed["model"] if model is None else model,
        task=narrowed["task"],
        latest=selection.latest,
    ):
        task, metric = row["task"].value, row["metric"].value
        if metric not in wanted or not selected(row["model"].value, task):
            continue
        yield ScoreRow(
            row["model"].value,
            task,
            later.of_task(task, metric),
            counted.round_of(row),
            row["case"].value,
            int(row["iteration"].value),
            float(row["value"].value),
            row["dialogue"].value,
            row["evaluation"].value,
        )


def single_values(
    store: Store, selection: Selection, metrics: Iterable[str]
) -> Iterator[tuple[Cell, counting.Single]]:
    """Every single value of ``metrics`` (IRIs) with its case and iteration.

    What is taken back comes last. :func:`score_rows` says the dialogues as well, and reads longer.
    """
    later = Superseded(store, selection)
    selected = selection_test(store, selection)
    asked = later.with_later(metrics)
    narrowed = narrowing(store, selection)
    singles = counting.single_values(store, selection, asked, **narrowed)
    for (model, task, metric), single in singles:
        if selected(model, task):
            yield Cell(model, task, later.of_task(task, metric), single.round), single


def errors(
    store: Store, selection: Selection, tasks: dict[str, TaskInfo]
) -> dict[tuple[str, str], Errors]:
    """What went wrong, by model and task IRI; pairs where nothing did are absent."""
    found: dict[tuple[str, str], Errors] = defaultdict(Errors)
    selected = selection_test(store, selection)
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        key = (row["model"].value, row["task"].value)
        found[key] += Errors(failed=int(row["count"].value))
    for one, times in counting.outcomes(
        store, selection.pass_graphs, latest=selection.latest, only=NOT_JUDGED | UNREADABLE
    ):
        task = tasks.get(one.task)
        if task is not None and (one.round is None) == (task.rounds > 1):
            judged = one.outcome not in NOT_JUDGED
            what = Errors(unreadable=times) if judged else Errors(not_judged=times)
            found[one.model, task.iri] += what
    return {pair: wrong for pair, wrong in found.items() if selected(*pair) and any(wrong)}


def selection_test(store: Store, selection: Selection) -> Callable[[str, str], bool]:
    """Whether the scores of a model (IRI) on a task (IRI) are among those selected.

    Raises :class:`~kgbench.errors.QueryError` where a glob fits no task or model of the store.
    """
    if selection.tasks == ALL and selection.models == ALL:
        return lambda _model, _task: True
    chosen_models, chosen_tasks = _selected(store, selection)
    return lambda model, task: model in chosen_models and task in chosen_tasks


def narrowing(store: Store, selection: Selection) -> dict[str, list[str] | None]:
    """Values for the parameters ``model`` and ``task`` of a query by which it reads less.

    They are given where the globs of a selection fit few models and tasks: then an engine finds
    these sooner than everything. Whatever comes must still pass :func:`selection_test`.
    """
    found: dict[str, list[str] | None] = {"model": None, "task": None}
    if selection.tasks == ALL and selection.models == ALL:
        return found
    models_, tasks_ = _selected(store, selection)
    for name, iris, glob in (
        ("model", models_, selection.models),
        ("task", tasks_, selection.tasks),
    ):
        if glob != ALL and len(iris) <= _NARROW:
            found[name] = sorted(iris)
    return found


def _selected(store: Store, selection: Selection) -> tuple[set[str], set[str]]:
    """The models and tasks (IRIs) that the globs of a selection fit."""
    named, known = models(store), tasks(store)
    chosen_models = {iri for iri in named if named.fits(iri, selection.models)}
    chosen_tasks = {iri for iri, task in known.items() if task.fits(selection.tasks)}
    for what, glob, chosen, all_names in (
        ("task label", selection.tasks, chosen_tasks, [task.name for task in known.values()]),
        ("model", selection.models, chosen_models, [model.name for model in named.values()]),
    ):
        if not chosen:
            raise QueryError(f"no {what} fits '{glob}'; there are: {', '.join(sorted(all_names))}")
    return chosen_models, chosen_tasks


# --- names ----------------------------------------------------------------------------------


@once
def tasks(store: Store) -> dict[str, TaskInfo]:
    """The tasks of the catalogue, by IRI."""
    rows = queries.rows(store, "list-tasks")
    unique = _unique(_names([(str(row[0]), str(row[1]), row[4], row[7]) for row in rows]))
    found = {}
    for iri, label, task_class, class_name, version, rounds, main_metric, size in rows:
        assert iri is not None
        found[iri] = TaskInfo(
            iri=iri,
            name=unique[iri],
            label=str(label),
            task_class=str(task_class),
            class_name=str(class_name),
            version=version or "",
            rounds=int(rounds or 1),
            main_metric=main_metric,
            size=None if size is None else int(size),
        )
    return found


@once
def metrics(store: Store) -> dict[str, MetricInfo]:
    """The metrics of the catalogue, by IRI, in the order of task classes."""
    rows = sorted(queries.rows(store, "list-metrics"), key=lambda row: (row[4], row[0]))
    return {
        str(iri): MetricInfo(
            str(iri),
            str(name),
            str(of),
            higher != "false",
            aggregation,
            base,
            Bounds(_number(lowest), _number(highest)),
            _number(threshold),
        )
        for iri, name, _, of, _, higher, aggregation, base, lowest, highest, threshold in rows
    }


@once
def models(store: Store) -> Models:
    """The models of the catalogue."""
    rows = queries.rows(store, "list-models")
    unique = _unique([(str(iri), label or str(id_)) for iri, id_, label, _ in rows])
    return Models((str(i), ModelInfo(str(i), unique[str(i)], str(id_))) for i, id_, *_ in rows)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _names(
    tasks: list[tuple[str, str, str | None, str | None]],
) -> list[tuple[str, str]]:
    """IRIs, labels, versions and sizes of tasks -> IRIs with names.

    A label that tasks of several versions share is followed by the version, one that tasks of one
    version share by the size.
    """
    sizes: dict[str, dict[str | None, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for _, label, version, size in tasks:
        sizes[label][version].add(size)
    named = []
    for iri, label, version, size in tasks:
        name = label if len(sizes[label]) == 1 or version is None else f"{label} {version}"
        several = len(sizes[label][version]) > 1 and size is not None
        named.append((iri, f"{name}-{size}" if several else name))
    return named


def _unique(labelled: list[tuple[str, str]]) -> dict[str, str]:
    """IRIs with labels -> IRIs with names; a label that several share gets the end of the IRI."""
    holders: dict[str, set[str]] = defaultdict(set)
    for iri, label in labelled:
        holders[label].add(iri)
    return {
        iri: label if len(holders[label]) == 1 else f"{label} [{iri.rpartition('/')[2]}]"
        for iri, label in labelled
    }
