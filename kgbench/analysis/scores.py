# SPDX-License-Identifier: Apache-2.0
"""Fetching scores from a store, cell by cell, and the names that tables show for IRIs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from kgbench.analysis import queries
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.selection import Selection
from kgbench.analysis.superseded import Superseded
from kgbench.errors import QueryError
from kgbench.store.protocol import Store
from kgbench.vocab import OUTCOME

#: The queries by which an analysis chooses its scores and names what they are of.
CHOOSING = ("list-passes", "list-suites", "list-tasks", "list-metrics", "list-models")
HISTOGRAMS = ("score-histograms", "superseding-metrics")
ROWS = ("score-rows", "superseding-metrics")
ERRORS = ("failed-dialogues", "outcome-counts")
_FEW = 40  # metrics that an engine finds sooner one by one than by reading all scores
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


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """A metric as the catalogue describes it; ``base`` is the IRI of what it aggregates."""

    iri: str
    name: str
    task_class: str
    higher_is_better: bool
    aggregation: str | None
    base: str | None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as the catalogue describes it. ``name`` is its label, made unique in the store."""

    iri: str
    name: str
    id: str


class Models(dict[str, ModelInfo]):
    """The models of a store, by IRI."""

    def name(self, iri: str) -> str:
        """How tables call a model; one that the catalogue lacks by its IRI."""
        return self[iri].name if iri in self else iri

    def fits(self, iri: str, glob: str) -> bool:
        """Whether id or name of a model match ``glob``; one that the catalogue lacks does."""
        info = self.get(iri)
        return info is None or fnmatchcase(info.id, glob) or fnmatchcase(info.name, glob)

    def find(self, name: str) -> ModelInfo:
        """The model with this name, id or IRI.

        Raises :class:`~kgbench.errors.QueryError` where there is none.
        """
        found = [model for model in self.values() if name in (model.name, model.id, model.iri)]
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
    asked = later.with_later(wanted)
    name = "score-histograms" if round_ is None else "round-histograms"
    given: dict[str, queries.Value | list[str] | None] = {
        "passGraph": list(selection.pass_graphs),
        "metric": asked if len(asked) <= _FEW else None,
        "latest": selection.latest,
    }
    if round_ is not None:
        given["round"] = round_
    counts: dict[Cell, dict[float, int]] = defaultdict(lambda: defaultdict(int))
    for row in queries.run(store, name, **given):
        task = row["task"].value
        metric = later.of_task(task, row["metric"].value)
        if metric in wanted:
            cell = Cell(row["model"].value, task, metric, round_)
            counts[cell][float(row["value"].value)] += int(row["count"].value)
    return {cell: Histogram(values) for cell, values in counts.items()}


def score_rows(
    store: Store, selection: Selection, metrics: Iterable[str], *, model: str | None = None
) -> Iterator[ScoreRow]:
    """Every single value of ``metrics`` (IRIs), of one ``model`` (IRI) if given."""
    later = Superseded(store, selection)
    for row in queries.run(
        store,
        "score-rows",
        passGraph=list(selection.pass_graphs),
        metric=later.with_later(metrics),
        model=model,
        latest=selection.latest,
    ):
        task = row["task"].value
        yield ScoreRow(
            row["model"].value,
            task,
            later.of_task(task, row["metric"].value),
            None if row["round"] is None else int(row["round"].value),
            row["case"].value,
            int(row["iteration"].value),
            float(row["value"].value),
            row["dialogue"].value,
            row["evaluation"].value,
        )


def errors(
    store: Store, selection: Selection, tasks: dict[str, TaskInfo]
) -> dict[tuple[str, str], Errors]:
    """What went wrong, by model and task IRI; pairs where nothing did are absent."""
    found: dict[tuple[str, str], Errors] = defaultdict(Errors)
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        key = (row["model"].value, row["task"].value)
        found[key] += Errors(failed=int(row["count"].value))
    for row in queries.run(
        store,
        "outcome-counts",
        passGraph=list(selection.pass_graphs),
        outcome=[OUTCOME[name] for name in sorted(NOT_JUDGED | UNREADABLE)],
        latest=selection.latest,
    ):
        task = tasks.get(row["task"].value)
        of_whole = row["round"] is None
        if task is not None and of_whole == (task.rounds > 1):
            outcome = row["outcome"].value.removeprefix(OUTCOME)
            count = int(row["count"].value)
            what = Errors(not_judged=count) if outcome in NOT_JUDGED else Errors(unreadable=count)
            found[row["model"].value, task.iri] += what
    return dict(found)


# --- names ----------------------------------------------------------------------------------


def tasks(store: Store) -> dict[str, TaskInfo]:
    """The tasks of the catalogue, by IRI."""
    rows = queries.rows(store, "list-tasks")
    unique = _unique([(str(row[0]), str(row[1])) for row in rows])
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


def metrics(store: Store) -> dict[str, MetricInfo]:
    """The metrics of the catalogue, by IRI."""
    return {
        str(iri): MetricInfo(str(iri), str(name), str(of), higher != "false", aggregation, base)
        for iri, name, _, of, _, higher, aggregation, base in queries.rows(store, "list-metrics")
    }


def models(store: Store) -> Models:
    """The models of the catalogue."""
    rows = queries.rows(store, "list-models")
    unique = _unique([(str(iri), label or str(id_)) for iri, id_, label, _ in rows])
    return Models((str(i), ModelInfo(str(i), unique[str(i)], str(id_))) for i, id_, *_ in rows)


def _unique(labelled: list[tuple[str, str]]) -> dict[str, str]:
    """IRIs with labels -> IRIs with names; a label that several share gets the end of the IRI."""
    holders: dict[str, set[str]] = defaultdict(set)
    for iri, label in labelled:
        holders[label].add(iri)
    return {
        iri: label if len(holders[label]) == 1 else f"{label} [{iri.rpartition('/')[2]}]"
        for iri, label in labelled
    }
