# SPDX-License-Identifier: Apache-2.0
"""Tasks, metrics and models of a store, with names that are unique within it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kgbench.analysis.intervals import UNBOUNDED, Bounds
from kgbench.analysis.model_records import recorded, records
from kgbench.analysis.tables import Ref
from kgbench.errors import QueryError
from kgbench.model import TOLERANCE
from kgbench.rdf import queries
from kgbench.store.protocol import Store
from kgbench.store.snapshot_cache import cache_per_snapshot


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task of the catalogue; ``name`` is its label, made unique within the store."""

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
        """Return whether ``glob`` is the task's label, name or IRI, or matches its label."""
        return glob in (self.label, self.name, self.iri) or fnmatchcase(self.label, glob)


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """A metric of the catalogue; ``base`` is the IRI of the metric that it aggregates."""

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
        """The least value of a success: the declared threshold, or else the best possible value.

        ``None`` where the metric declares neither a threshold (``kgb:successThreshold``) nor the
        end of its range.
        """
        if self.threshold is not None:
            return self.threshold
        return self.bounds.high if self.higher_is_better else self.bounds.low

    def succeeds(self, value: float, threshold: float) -> bool:
        """Return whether a value reaches a threshold, with a tolerance for rounding errors."""
        return reaches(value, threshold, higher_is_better=self.higher_is_better)


def reaches(value: float, threshold: float, *, higher_is_better: bool) -> bool:
    """Return whether a value is at a threshold or better, with a tolerance for rounding errors."""
    ahead = value - threshold if higher_is_better else threshold - value
    return ahead >= -TOLERANCE


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model of the catalogue.

    ``name`` is its label, made unique within the store. ``shown`` is the name that people read: the
    label of the model's record, else the last segment of a path on a model hub, or ``name`` where
    two models would have the same.
    """

    iri: str
    name: str
    id: str
    shown: str


class Models(dict[str, ModelInfo]):
    """The models of a store, by IRI."""

    def name(self, iri: str) -> str:
        """Return the name of a model or reviewer in tables; the IRI if the catalogue lacks it."""
        if iri in self:
            return self[iri].name
        _, separator, pseudonym = iri.rpartition("/reviewer/")
        return Ref(f"{pseudonym} (person)", iri) if separator else iri

    def fits(self, iri: str, glob: str) -> bool:
        """Return whether ``glob`` matches the id or a name of a model, or is its IRI.

        The connector may be left out: ``gpt-4o`` matches ``openai:gpt-4o``. A model that the
        catalogue lacks always matches.
        """
        info = self.get(iri)
        if info is None or glob in (info.id, info.name, info.shown, iri):
            return True
        called = (info.id, info.name, info.shown, info.id.partition(":")[2])
        return any(fnmatchcase(name, glob) for name in called)

    def find(self, name: str) -> ModelInfo:
        """Return the model with this name, in tables or in the catalogue, id or IRI.

        Raises :class:`~kgbench.errors.QueryError` where there is none.
        """
        for test in (
            lambda m: name in (m.name, m.iri),  # the exact name before ids that several share
            lambda m: name == m.shown,
            lambda m: name == m.id,
            lambda m: name == m.id.partition(":")[2],
        ):
            if matching := list(filter(test, self.values())):
                break
        if len(matching) != 1:
            listed = ", ".join(sorted(model.name for model in self.values()))
            raise QueryError(f"the store has no model '{name}'; there are: {listed}")
        return matching[0]


@cache_per_snapshot
def tasks(store: Store) -> dict[str, TaskInfo]:
    """Return the tasks of the catalogue, by IRI."""
    rows = queries.rows(store, "list-tasks")
    unique = _unique(_names([(str(row[0]), str(row[1]), row[4], row[7]) for row in rows]))
    by_iri = {}
    for iri, label, task_class, class_name, version, rounds, main_metric, size in rows:
        assert iri is not None
        by_iri[iri] = TaskInfo(
            iri=iri,
            name=Ref(unique[iri], iri),
            label=str(label),
            task_class=str(task_class),
            class_name=str(class_name),
            version=version or "",
            rounds=int(rounds or 1),
            main_metric=main_metric,
            size=None if size is None else int(size),
        )
    return by_iri


@cache_per_snapshot
def metrics(store: Store) -> dict[str, MetricInfo]:
    """Return the metrics of all classes that have tasks, by IRI, in the order of task classes."""
    classes = sorted({task.task_class for task in tasks(store).values()})
    rows = queries.rows(store, "list-metrics", taskClass=classes)
    rows.sort(key=lambda row: (row[4], row[0]))
    return {
        str(iri): MetricInfo(
            str(iri),
            str(name),
            str(task_class),
            higher != "false",
            aggregation,
            base,
            Bounds(_number(low), _number(high)),
            _number(threshold),
        )
        for iri, name, _, task_class, _, higher, aggregation, base, low, high, threshold in rows
    }


@cache_per_snapshot
def models(store: Store) -> Models:
    """Return the models of the catalogue."""
    rows = queries.rows(store, "list-models")
    unique = _unique([(str(iri), label or str(id_)) for iri, id_, label, _ in rows])
    ids = {str(iri): str(id_) for iri, id_, *_ in rows}
    shown = _shown(unique, ids)
    return Models((i, ModelInfo(i, Ref(unique[i], i), ids[i], shown[i])) for i in ids)


def _shown(names: Mapping[str, str], ids: Mapping[str, str]) -> dict[str, str]:
    """Return the names of models that people read, by IRI; see :class:`ModelInfo`."""
    known = records()
    short = {}
    for iri, name in names.items():
        record = recorded(ids[iri], known)
        short[iri] = name.rpartition("/")[2] if record is None else record.label
    uses = Counter(short.values())
    uses.update(name for iri, name in names.items() if short[iri] != name)
    return {i: short[i] if short[i] and uses[short[i]] == 1 else names[i] for i in names}


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _names(tasks: list[tuple[str, str, str | None, str | None]]) -> list[tuple[str, str]]:
    """Name tasks, given as IRIs, labels, versions and sizes; returns IRIs with names.

    The version is appended to a label that tasks of several versions share, and the size to a label
    that tasks of the same version share.
    """
    sizes: dict[str, dict[str | None, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for _, label, version, size in tasks:
        sizes[label][version].add(size)
    names = []
    for iri, label, version, size in tasks:
        name = label if len(sizes[label]) == 1 or version is None else f"{label} {version}"
        several = len(sizes[label][version]) > 1 and size is not None
        names.append((iri, f"{name}-{size}" if several else name))
    return names


def _unique(labelled: list[tuple[str, str]]) -> dict[str, str]:
    """Make labels unique: the end of the IRI is appended to a label that several IRIs share."""
    holders: dict[str, set[str]] = defaultdict(set)
    for iri, label in labelled:
        holders[label].add(iri)
    return {
        iri: label if len(holders[label]) == 1 else f"{label} [{iri.rpartition('/')[2]}]"
        for iri, label in labelled
    }
