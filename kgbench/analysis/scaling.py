# SPDX-License-Identifier: Apache-2.0
"""Scores against facts about models: size, context length and release date, per family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from kgbench.analysis.declarations import ScoreSet, read_declarations
from kgbench.analysis.inference import inference
from kgbench.analysis.intervals import half_width
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.scores import models
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import two_sided
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.nearest import nearest
from kgbench.rdf.declared import Declared, shipped
from kgbench.store.protocol import Store
from kgbench.vocab import DCTERMS, KGB, RDFS, SCHEMA

ALL_FAMILIES = "all"
POINTS = (
    Column("model", "Model"),
    Column("family", "Family"),
    Column("parameters", "Parameters (10^9)", Kind.SCORE),
    Column("active", "Active (10^9)", Kind.SCORE),
    Column("context", "Context", Kind.COUNT),
    Column("released", "Released"),
    Column("license", "Licence"),
    Column("score", "Score", Kind.SCORE),
)
TRENDS = (
    Column("against", "Against"),
    Column("family", "Family"),
    Column("n", "n", Kind.COUNT),
    Column("slope", "Slope", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("r", "r", Kind.SCORE),
    Column("unit", "Per"),
)


class Against(StrEnum):
    """The explanatory variables of scores."""

    PARAMETERS = "parameters"
    ACTIVE = "active"
    CONTEXT = "context"
    RELEASED = "released"


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

    def value(self, against: Against) -> float | None:
        """Return the explanatory variable: the decimal logarithm of a size, or a date in years."""
        if against is Against.RELEASED:
            return None if self.released is None else self.released.toordinal() / 365.25
        size = {
            Against.PARAMETERS: self.parameters,
            Against.ACTIVE: self.active,
            Against.CONTEXT: self.context,
        }[against]
        return None if size is None else math.log10(size)


class Line(NamedTuple):
    """A least-squares line: slope with its interval and p, and the correlation."""

    slope: float
    low: float
    high: float
    p: float
    r: float


def records(file: Path | None = None) -> list[ModelRecord]:
    """Return the model records of the user's file, which take precedence, and the shipped ones."""
    return own_records(file) + _read(shipped("queries", "models.ttl"))


def own_records(file: Path | None) -> list[ModelRecord]:
    """Return the model records of the user's file; an empty list without a file."""
    return [] if file is None else _read(read_declarations(file))


def family_of(model: str, model_records: Sequence[ModelRecord]) -> str:
    """Return the recorded family of a model (id); a model without a record is its own family."""
    record = recorded(model, model_records)
    return model if record is None else record.family


def recorded(model_id: str, model_records: Sequence[ModelRecord]) -> ModelRecord | None:
    """Return the first of the ``model_records`` that describes the model with this identifier."""
    return next((record for record in model_records if record.describes(model_id)), None)


def _without_models(
    own_records_: Sequence[ModelRecord], file: Path | None, ids: Sequence[str]
) -> list[str]:
    """Return a note on the records of a user's ``file`` that describe no model of the store.

    Raises :class:`~kgbench.errors.QueryError` with the nearest identifiers where no record
    describes a model, because the file would then have no effect.
    """
    unmatched = [record.glob for record in own_records_ if not any(map(record.describes, ids))]
    hints = [f"'{glob}' ({nearest(glob.strip('*'), ids)})" for glob in dict.fromkeys(unmatched)]
    if own_records_ and len(unmatched) == len(own_records_):
        raise QueryError(f"{file}: no model of the store matches {' or '.join(hints)}")
    return [f"Declared, but no model of the store matches {', '.join(hints)}."] if hints else []


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


def line(xs: Sequence[float], ys: Sequence[float]) -> Line | None:
    """Fit a least-squares line (``scipy.stats.linregress``), with Student's t interval.

    ``None`` for fewer than three points or where all points have the same x.
    """
    n = len(xs)
    if n <= 2:  # noqa: PLR2004 - a line through two points has no spread
        return None
    mean_x, mean_y = math.fsum(xs) / n, math.fsum(ys) / n
    sxx = math.fsum((x - mean_x) ** 2 for x in xs)
    syy = math.fsum((y - mean_y) ** 2 for y in ys)
    sxy = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    if sxx == 0:
        return None
    slope = sxy / sxx
    residual_squares = math.fsum(
        (y - mean_y - slope * (x - mean_x)) ** 2 for x, y in zip(xs, ys, strict=True)
    )
    error = math.sqrt(residual_squares / (n - 2) / sxx)
    half = half_width(error, n - 2)
    correlation = 0.0 if syy == 0 else max(-1.0, min(1.0, sxy / math.sqrt(sxx * syy)))
    p = (1.0 if slope == 0 else 0.0) if error == 0 else two_sided(slope / error, n - 2)
    return Line(slope, slope - half, slope + half, p, correlation)


@dataclass(frozen=True, slots=True)
class _Point:
    model: str
    record: ModelRecord
    score: float


def scaling(
    store: Store,
    selection: Selection,
    combined: ScoreSet | None = None,
    file: Path | None = None,
) -> tuple[Table, Table]:
    """Return two tables: the scored models with their recorded facts, and the trends over them.

    Trends are lines of the leaderboard's score against the decimal logarithm of parameters, active
    parameters and context, and against the year of release; there is one per family with at least
    three models, and one over all models. Raises :class:`~kgbench.errors.QueryError` where no
    scored model has a record, and where no record of the user's ``file`` describes a model of the
    store.
    """
    board = leaderboard(store, selection, combined)
    ids = {model.name: model.id for model in models(store).values()}
    own = own_records(file)
    lacking = _without_models(own, file, list(ids.values()))
    all_records = own + records()
    points, unknown = [], []
    for row in board.records():
        name, score = str(row["model"]), row["score"]
        record = recorded(ids.get(name, name), all_records)
        if record is None:
            unknown.append(name)
        elif isinstance(score, float):
            points.append(_Point(name, record, score))
    if not points:
        raise QueryError(
            f"no model record matches any of: {', '.join(sorted(unknown)) or 'no scored model'}"
        )
    without = [f"No model record: {', '.join(sorted(unknown))}."] if unknown else []
    notes = (*without, *lacking)
    inference_ = inference(by="regression")
    shared: dict[str, Value] = dict(board.context)
    return (
        Table(
            title=f"Models and scores ({selection.suite_name})",
            columns=POINTS,
            rows=tuple(_point_row(point) for point in points),
            notes=notes,
            queries=board.queries,
            context=shared,
        ),
        Table(
            title=f"Trends of scores ({selection.suite_name})",
            columns=TRENDS,
            rows=tuple(_trend_rows(points)),
            notes=(*notes, inference_.note),
            queries=board.queries,
            context={**shared, **inference_.context},
        ),
    )


def _point_row(point: _Point) -> tuple[Value, ...]:
    record = point.record
    return (
        point.model,
        record.family,
        record.parameters,
        record.active,
        record.context,
        None if record.released is None else record.released.isoformat(),
        record.license,
        point.score,
    )


def _trend_rows(points: list[_Point]) -> Iterable[tuple[Value, ...]]:
    families = sorted({point.record.family for point in points})
    for against in Against:
        unit = "year" if against is Against.RELEASED else "tenfold"
        for family in [ALL_FAMILIES, *families]:
            xs, ys = [], []
            for point in points:
                x = point.record.value(against)
                if x is not None and family in (ALL_FAMILIES, point.record.family):
                    xs.append(x)
                    ys.append(point.score)
            trend = line(xs, ys)
            if trend is not None:
                yield (
                    str(against),
                    family,
                    len(xs),
                    trend.slope,
                    trend.low,
                    trend.high,
                    trend.p,
                    trend.r,
                    unit,
                )
