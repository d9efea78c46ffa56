# SPDX-License-Identifier: Apache-2.0
"""Scores against facts about models: size, context length and release date, per family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import kgbench.api as kb
from kgbench.analysis.leaderboard import parts_of_set, standings_table
from kgbench.analysis.registry import Arguments, Declared, Option, SetName
from kgbench.errors import nearest
from kgbench.scores.catalogue import ModelRecord, own_records, recorded, records
from kgbench.scores.declared import ScoreSet, score_set
from kgbench.scores.inference import inference
from kgbench.scores.reading import Score
from kgbench.statistics.intervals import half_width

ALL_FAMILIES = "all"
POINTS = (
    kb.Column("model", "Model"),
    kb.Column("family", "Family"),
    kb.Column("parameters", "Parameters (10^9)", kb.Kind.SCORE),
    kb.Column("active", "Active (10^9)", kb.Kind.SCORE),
    kb.Column("context", "Context", kb.Kind.COUNT),
    kb.Column("released", "Released"),
    kb.Column("license", "Licence"),
    kb.Column("score", "Score", kb.Kind.SCORE),
)
TRENDS = (
    kb.Column("against", "Against"),
    kb.Column("family", "Family"),
    kb.Column("n", "n", kb.Kind.COUNT),
    kb.Column("slope", "Slope", kb.Kind.SCORE),
    kb.Column("ci_low", "95 % from", kb.Kind.SCORE),
    kb.Column("ci_high", "to", kb.Kind.SCORE),
    kb.Column("p", "p", kb.Kind.P),
    kb.Column("r", "r", kb.Kind.SCORE),
    kb.Column("unit", "Per"),
)


class Against(StrEnum):
    """The explanatory variables of scores."""

    PARAMETERS = "parameters"
    ACTIVE = "active"
    CONTEXT = "context"
    RELEASED = "released"


def _explanatory(record: ModelRecord, against: Against) -> float | None:
    """Return the explanatory variable: the decimal logarithm of a size, or a date in years."""
    if against is Against.RELEASED:
        return None if record.released is None else record.released.toordinal() / 365.25
    size = {
        Against.PARAMETERS: record.parameters,
        Against.ACTIVE: record.active,
        Against.CONTEXT: record.context,
    }[against]
    return None if size is None else math.log10(size)


class Line(NamedTuple):
    """A least-squares line: slope with its interval and p, and the correlation."""

    slope: float
    low: float
    high: float
    p: float
    r: float


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
        raise kb.QueryError(f"{file}: no model of the store matches {' or '.join(hints)}")
    return [f"Declared, but no model of the store matches {', '.join(hints)}."] if hints else []


def line(xs: Sequence[float], ys: Sequence[float]) -> Line | None:
    """Fit a least-squares line (``scipy.stats.linregress``), with Student's t interval.

    ``None`` for fewer than three points or where all points have the same x.
    """
    from scipy import stats  # type: ignore[import-untyped]

    if len(xs) <= 2 or len(set(xs)) == 1:  # noqa: PLR2004 - a line through two points has no spread
        return None
    if len(set(ys)) == 1:  # a line without errors, for which scipy gives no p
        return Line(0.0, 0.0, 0.0, 1.0, 0.0)
    fitted = stats.linregress(xs, ys)
    slope, half = float(fitted.slope), half_width(float(fitted.stderr), len(xs) - 2)
    return Line(slope, slope - half, slope + half, float(fitted.pvalue), float(fitted.rvalue))


@dataclass(frozen=True, slots=True)
class _Point:
    model: str
    record: ModelRecord
    score: float


def _parts(
    store: kb.Store, selection: kb.Selection, arguments: Arguments
) -> dict[str, list[Score]]:
    # --declared has records of models here, not score sets.
    return parts_of_set(
        store, selection, {"set": arguments["set"], "declared": None, "round": None}
    )


@kb.analysis("scaling", kb.Purpose.COMPARE, parts=_parts)
def scaling(
    store: kb.Store,
    selection: kb.Selection,
    *,
    set: SetName = "main",
    declared: Declared = None,
    points: Annotated[bool, Option("Show models with their facts, instead of trends.")] = False,
) -> kb.Table:
    """Show scores against model size, context length and release date, with trends per family.

    Facts about models come from declared records; --declared adds your own.

    >>> results = kgbench.open("kgbench-results")
    >>> results.scaling(declared=Path("models.ttl"), points=True).column("context")
    [32000, 16000]
    """
    return points_and_trends(store, selection, score_set(set), declared)[not points]


def points_and_trends(
    store: kb.Store,
    selection: kb.Selection,
    combined: ScoreSet | None = None,
    file: Path | None = None,
) -> tuple[kb.Table, kb.Table]:
    """Return two tables: the scored models with their recorded facts, and the trends over them.

    Trends are lines of the leaderboard's score against the decimal logarithm of parameters, active
    parameters and context, and against the year of release; there is one per family with at least
    three models, and one over all models. Raises :class:`~kgbench.errors.QueryError` where no
    scored model has a record, and where no record of the user's ``file`` describes a model of the
    store.
    """
    board = standings_table(store, selection, combined)
    ids = {model.name: model.id for model in kb.model_names(store).values()}
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
        raise kb.QueryError(
            f"no model record matches any of: {', '.join(sorted(unknown))}: --declared adds yours"
            if unknown
            else "the selection has no models with a score"
        )
    without = [f"No model record: {', '.join(sorted(unknown))}."] if unknown else []
    notes = (*without, *lacking)
    inference_ = inference(by="regression")
    shared: dict[str, kb.Value] = dict(board.context)
    return (
        kb.Table(
            title=f"Models and scores ({selection.suite_name})",
            columns=POINTS,
            rows=tuple(_point_row(point) for point in points),
            notes=notes,
            queries=board.queries,
            context=shared,
        ),
        kb.Table(
            title=f"Trends of scores ({selection.suite_name})",
            columns=TRENDS,
            rows=tuple(_trend_rows(points)),
            notes=(*notes, inference_.note),
            queries=board.queries,
            context={**shared, **inference_.context},
        ),
    )


def _point_row(point: _Point) -> tuple[kb.Value, ...]:
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


def _trend_rows(points: list[_Point]) -> Iterable[tuple[kb.Value, ...]]:
    families = sorted({point.record.family for point in points})
    for against in Against:
        unit = "year" if against is Against.RELEASED else "tenfold"
        for family in [ALL_FAMILIES, *families]:
            xs, ys = [], []
            for point in points:
                x = _explanatory(point.record, against)
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
