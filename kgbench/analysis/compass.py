# SPDX-License-Identifier: Apache-2.0
"""The capability compass: how a model does along declared axes, with a band of its spread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Selector, reached
from kgbench.analysis.declarations import Declared
from kgbench.analysis.histogram import Histogram, mean
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError, ResourceError
from kgbench.store.protocol import Store
from kgbench.vocab import KGB, RDFS, SKOS

COLUMNS = (
    Column("model", "Model"),
    Column("axis", "Axis"),
    Column("label", "Capability"),
    Column("n", "n", Kind.COUNT),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("low", "Band from", Kind.SCORE),
    Column("high", "to", Kind.SCORE),
)
QUERIES = (*fetch.CHOOSING, *fetch.HISTOGRAMS, "round-histograms")


@dataclass(frozen=True, slots=True)
class Axis:
    """A declared axis (``dqv:Dimension``) over scores."""

    name: str
    label: str
    selectors: tuple[Selector, ...]


@dataclass(frozen=True, slots=True)
class Compass:
    """A declared compass: axes in their order, and how its band is drawn.

    ``band`` is half the band's width in standard deviations; ``population`` says which deviation.
    """

    name: str
    label: str
    axes: tuple[Axis, ...]
    band: float
    population: bool


def compass(name: str = "eswc", file: Path | None = None) -> Compass:
    """The declared compass called ``name``, as shipped or from one's own file."""
    declared = Declared.of(file, "compass.ttl")
    node = declared.named(KGB.Compass, name)
    axes = tuple(
        Axis(
            declared.required(axis, SKOS.notation),
            declared.required(axis, RDFS.label),
            declared.selectors(axis),
        )
        for axis in declared.ordered(node, KGB.axis)
    )
    band = declared.read(node, KGB.bandWidth, float)
    if band is None:
        raise ResourceError(f"{declared.file}: the compass '{name}' has no <{KGB.bandWidth}>")
    return Compass(
        name=name,
        label=declared.required(node, RDFS.label),
        axes=axes,
        band=band,
        population=declared.required(node, KGB.deviationKind) == "population",
    )


def compass_table(store: Store, selection: Selection, declared: Compass | None = None) -> Table:
    """One row per model and axis: the radius, the deviation of all values, and the band.

    The radius is the mean, over the scores of the axis, of their means; the band is cut to 0..1.
    An axis on which a model has no value has no radius. Raises
    :class:`~kgbench.errors.QueryError` where no model has a value on any axis.
    """
    declared = declared or compass()
    tasks, metrics = fetch.tasks(store), fetch.metrics(store)
    ordered = sorted(tasks.values(), key=lambda task: task.iri)
    wanted = {
        axis.name: [s for sel in axis.selectors for s in sel.scores(ordered, metrics.values())]
        for axis in declared.axes
    }
    found = reached(store, selection, {s for scores in wanted.values() for s in scores})
    if not found:
        raise QueryError(f"no model has scores on any axis of the compass '{declared.name}'")
    names = fetch.models(store)
    rows = []
    for model in sorted(found, key=names.name):
        for axis in declared.axes:
            parts = [found[model][s] for s in dict.fromkeys(wanted[axis.name]) if s in found[model]]
            rows.append(_row(names.name(model), axis, parts, declared))
    return Table(
        title=f"Compass: {declared.label} ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        queries=QUERIES,
        context={**selection.context, "compass": declared.name},
    )


def _row(model: str, axis: Axis, parts: list[Histogram], declared: Compass) -> tuple[Value, ...]:
    pooled = Histogram.pooled(parts)
    radius = mean(part.mean for part in parts if part.mean is not None)
    sd = pooled.population_sd if declared.population else pooled.sd
    low = high = None
    if radius is not None and sd is not None:
        low, high = max(0.0, radius - declared.band * sd), min(1.0, radius + declared.band * sd)
    return (model, axis.name, axis.label, pooled.n, len(parts), radius, sd, low, high)
