# SPDX-License-Identifier: Apache-2.0
"""Tasks, metrics and models of a store: names that are unique within it, and published facts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from kgbench.errors import QueryError
from kgbench.model import TOLERANCE
from kgbench.rdf import queries
from kgbench.rdf.declared import Declared, shipped
from kgbench.rdf.declared_terms import read_declarations
from kgbench.statistics.intervals import UNBOUNDED, Bounds
from kgbench.store.iris import unique_names
from kgbench.store.protocol import Store
from kgbench.store.reader import cache_per_snapshot
from kgbench.tables import Ref, Table, Value
from kgbench.vocab import DCTERMS, KGB, RDFS, SCHEMA


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

    def successes(self, counts: Mapping[float, int], threshold: float) -> int:
        """Count the values, given with their counts, that reach a threshold."""
        return sum(count for value, count in counts.items() if self.succeeds(value, threshold))


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


def several(globs: str | Sequence[str]) -> Sequence[str]:
    """Return one glob or several as a sequence."""
    return (globs,) if isinstance(globs, str) else globs


class Models(dict[str, ModelInfo]):
    """The models of a store, by IRI."""

    def name(self, iri: str) -> str:
        """Return the name of a model or reviewer in tables; the IRI if the catalogue lacks it."""
        if iri in self:
            return self[iri].name
        _, separator, pseudonym = iri.rpartition("/reviewer/")
        return Ref(f"{pseudonym} (person)", iri) if separator else iri

    def fits(self, iri: str, globs: str | Sequence[str]) -> bool:
        """Return whether one of ``globs`` matches the id or a name of a model, or is its IRI.

        The connector may be left out: ``gpt-4o`` matches ``openai:gpt-4o``. A model that the
        catalogue lacks always matches.
        """
        info = self.get(iri)
        if info is None:
            return True
        called = (info.id, info.name, info.shown, info.id.partition(":")[2])
        return any(
            glob in (*called[:3], iri) or any(fnmatchcase(name, glob) for name in called)
            for glob in several(globs)
        )

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
    unique = unique_names(_names([(str(row[0]), str(row[1]), row[4], row[7]) for row in rows]))
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
    unique = unique_names([(str(iri), label or str(id_)) for iri, id_, label, _ in rows])
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


COLUMN = "model"


def display_names(store: Store) -> dict[str, str]:
    """Return the display name of each model of a store, by its name in the catalogue."""
    return {model.name: model.shown for model in models(store).values()}


def model_names(store: Store) -> dict[str, str]:
    """Return the display name of each model, by IRI."""
    return {model.iri: model.shown for model in models(store).values()}


def displayed(table: Table, names: Mapping[str, str]) -> Table:
    """Replace the names in the column of models by display names.

    >>> from kgbench.tables import Column, Table
    >>> table = Table("Scores", (Column("model", "Model"),), (("org/small-7b",),))
    >>> displayed(table, {"org/small-7b": "Small 7B"}).rows
    (('Small 7B',),)
    """
    if COLUMN not in table.names:
        return table
    index = table.names.index(COLUMN)

    def shown(value: Value) -> Value:
        name = names.get(str(value))
        if name is None:
            return value
        return value.relabelled(name) if isinstance(value, Ref) else name

    return replace(
        table,
        rows=tuple((*row[:index], shown(row[index]), *row[index + 1 :]) for row in table.rows),
    )


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Published facts about a model; unknown ones are ``None``. Parameters are in units of 10^9.

    ``active`` is the number of parameters used per token, which is less than ``parameters`` for a
    mixture of experts. ``glob`` matches the identifiers of the model.
    """

    label: str
    glob: str
    family: str
    parameters: float | None
    active: float | None
    context: int | None
    released: date | None
    license: str | None

    def describes(self, model_id: str) -> bool:
        """Return whether the record describes the model with this identifier."""
        return fnmatchcase(model_id, self.glob)


def records(file: Path | None = None) -> list[ModelRecord]:
    """Return the model records of the user's file, which take precedence, and the shipped ones."""
    return own_records(file) + _read(shipped("queries", "models.ttl"))


def own_records(file: Path | None) -> list[ModelRecord]:
    """Return the model records of the user's file; an empty list without a file."""
    return [] if file is None else _read(read_declarations(file))


def recorded(model_id: str, model_records: Sequence[ModelRecord]) -> ModelRecord | None:
    """Return the first of the ``model_records`` that describes the model with this identifier."""
    return next((record for record in model_records if record.describes(model_id)), None)


def _read(declared: Declared) -> list[ModelRecord]:
    model_records = []
    for node in declared.instances(KGB.ModelRecord):
        parameters = declared.read(node, KGB.parameterCount, _size)
        context = declared.read(node, KGB.contextLength, _size)
        model_records.append(
            ModelRecord(
                label=declared.required(node, RDFS.label),
                glob=declared.required(node, KGB.matches),
                family=declared.required(node, KGB.family),
                parameters=parameters,
                active=declared.read(node, KGB.activeParameterCount, _size) or parameters,
                context=None if context is None else int(context),
                released=declared.read(node, DCTERMS.issued, date.fromisoformat),
                license=declared.text(node, SCHEMA.license),
            )
        )
    return model_records


def _size(text: str) -> float:
    size = float(text)
    if not 0 < size < math.inf:
        raise ValueError("a size must be a positive number")  # its logarithm is taken
    return size
