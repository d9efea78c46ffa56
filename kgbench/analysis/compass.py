# SPDX-License-Identifier: Apache-2.0
"""The capability compass: scores of models on declared axes, with a band for the spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyoxigraph as ox

from kgbench.analysis.registry import Arguments, Declared, Option, Purpose, analysis
from kgbench.errors import QueryError, nearest
from kgbench.rdf.declared import shipped
from kgbench.rdf.declared_terms import read_declarations
from kgbench.scores import catalogue
from kgbench.scores.declared import check_selectors, selectors, without_results
from kgbench.scores.reading import BY_TASK, CHOOSING, Score, histograms
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import Selector
from kgbench.statistics.histogram import Histogram, mean
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Ref, Table, Value
from kgbench.vocab import KGB, RDFS, SKOS

COLUMNS = (
    Column("model", "Model"),
    Column("axis", "Axis"),
    Column("label", "Capability"),
    Column("n", "n", Kind.COUNT),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("band_from", "Band from", Kind.SCORE),
    Column("band_to", "to", Kind.SCORE),
)
QUERIES = (*CHOOSING, *BY_TASK)
DEFAULT = "eswc"


@dataclass(frozen=True, slots=True)
class Axis:
    """A declared axis (``dqv:Dimension``) over scores; only shipped axes have an ``iri``."""

    name: str
    label: str
    selectors: tuple[Selector, ...]
    iri: str | None = None


@dataclass(frozen=True, slots=True)
class Compass:
    """A declared compass: its axes in order, and the width of its band.

    ``band`` is half the band's width in standard deviations, of the population if ``population``,
    else of the sample. ``file`` is the user's file that declares it, ``None`` for a shipped one.
    """

    name: str
    label: str
    axes: tuple[Axis, ...]
    band: float
    population: bool
    file: Path | None = None


def find_compass(name: str = DEFAULT, file: Path | None = None) -> Compass:
    """Return the declared compass ``name``, a shipped one or one from the user's ``file``."""
    declared = read_declarations(file, "compass.ttl")
    node = declared.named(KGB.Compass, name)
    axes = tuple(
        Axis(
            axis_name,
            declared.required(axis, RDFS.label),
            selectors(declared, axis),
            axis.value if file is None else None,
        )
        for axis_name, axis in declared.parts(node, KGB.axis, SKOS.notation).items()
    )
    return Compass(
        name=name,
        label=declared.required(node, RDFS.label),
        axes=axes,
        band=declared.required_as(node, KGB.bandWidth, _band),
        population=declared.required_as(node, KGB.deviationKind, _population),
        file=file,
    )


def compass_of(suite: str, name: str | None = None, file: Path | None = None) -> Compass:
    """Return the compass ``name``, by default the compass of a suite (IRI).

    The suite declares its default (``kgb:defaultCompass``); the default of other suites is
    :data:`DEFAULT`. If the user's ``file`` declares a single compass, that is the default. Raises
    :class:`~kgbench.errors.QueryError` for an unknown name.
    """
    if name is None and file is not None:
        declared = read_declarations(file)
        names = [declared.required(node, SKOS.notation) for node in declared.instances(KGB.Compass)]
        name = names[0] if len(names) == 1 else None
    if name is None and file is None:
        suites = shipped("ontology", "suites.ttl")
        for node in suites.objects(ox.NamedNode(suite), KGB.defaultCompass):
            name = shipped("queries", "compass.ttl").required(node, SKOS.notation)
    return find_compass(name or DEFAULT, file)


def _parts(store: Store, selection: Selection, arguments: Arguments) -> dict[str, list[Score]]:
    """Return the scores behind a compass, by axis."""
    chosen = compass_of(selection.suite, arguments["compass"], arguments["declared"])
    tasks, metrics = catalogue.tasks(store).values(), catalogue.metrics(store).values()
    return {
        axis.name: [s for selector in axis.selectors for s in selector.scores(tasks, metrics)]
        for axis in chosen.axes
    }


@analysis("compass", Purpose.LOOK, parts=_parts, figure="kgbench.plots.compasses:COMPASS")
def compass(
    store: Store,
    selection: Selection,
    *,
    compass: Annotated[
        str | None,
        Option("The declared compass; default: that of the suite.", metavar="NAME"),
    ] = None,
    declared: Declared = None,
) -> Table:
    """Show how well each model does on declared capabilities.

    >>> results = kgbench.open("kgbench-results")
    >>> results.compass(compass="eswc").where("axis", "R-Ana").column("mean")
    [0.6236111111111111, 1.0]
    """
    return compass_table(store, selection, compass_of(selection.suite, compass, declared))


def compass_table(store: Store, selection: Selection, declared: Compass | None = None) -> Table:
    """Compute a compass: one row per model and axis with mean, deviation and band.

    The mean of an axis is the mean over its scores of their means; the deviation is that of all
    values; the band is cut to 0..1, and there is none around a mean outside. There is no mean where
    a model has no value on an axis. The default of ``declared`` is the compass of the suite
    (:func:`compass_of`). Raises :class:`~kgbench.errors.QueryError` where no model has a value on
    any axis.
    """
    declared = declared or compass_of(selection.suite)
    selectors = [selector for axis in declared.axes for selector in axis.selectors]
    check_selectors(store, selectors, declared.file)
    tasks, metrics = catalogue.tasks(store), catalogue.metrics(store)
    ordered = sorted(tasks.values(), key=lambda task: task.iri)
    scores_of_axis = {
        axis.name: [s for sel in axis.selectors for s in sel.scores(ordered, metrics.values())]
        for axis in declared.axes
    }
    values = histograms(store, selection, {s for scores in scores_of_axis.values() for s in scores})
    if not values:
        raise QueryError(f"no model has scores on any axis of the compass '{declared.name}'")
    names = catalogue.models(store)
    scored = {score for parts in values.values() for score in parts}
    rows = []
    for model in sorted(values, key=names.name):
        for axis in declared.axes:
            parts = [
                values[model][s]
                for s in dict.fromkeys(scores_of_axis[axis.name])
                if s in values[model]
            ]
            rows.append(_row(names.name(model), axis, parts, declared))
    return Table(
        title=f"Compass: {declared.label} ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            (
                f"The band is the mean ± {declared.band:g} standard deviations of all values, "
                "inside 0 to 1, and not an interval of the mean."
            ),
            *without_results(store, selectors, scored, declared.file),
        ),
        queries=QUERIES,
        context={
            **selection.context,
            "compass": declared.name,
            "band": declared.band,
            "deviation": "population" if declared.population else "sample",
        },
    )


def _band(text: str) -> float:
    width = float(text)
    if not 0 <= width < math.inf:
        raise ValueError("a width is a number from 0")
    return width


def _population(kind: str) -> bool:
    if kind not in ("population", "sample"):
        raise ValueError(nearest(kind, ("population", "sample")))
    return kind == "population"


def _row(model: str, axis: Axis, parts: list[Histogram], declared: Compass) -> tuple[Value, ...]:
    pooled = Histogram.pooled(parts)
    radius = mean(part.mean for part in parts if part.mean is not None)
    sd = pooled.population_sd if declared.population else pooled.sd
    low = high = None
    if radius is not None and sd is not None and 0 <= radius <= 1:
        ends = (radius - declared.band * sd, radius + declared.band * sd)
        low, high = (min(1.0, max(0.0, end)) for end in ends)
    name = axis.name if axis.iri is None else Ref(axis.name, axis.iri)
    return (model, name, axis.label, pooled.n, len(parts), radius, sd, low, high)
