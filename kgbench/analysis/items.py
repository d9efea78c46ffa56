# SPDX-License-Identifier: Apache-2.0
"""Item analysis of cases: difficulty, item-rest correlation and suspect cases.

``item_rest`` is the corrected item-total correlation over models between the mean score on the case
and the mean over all other selected cases. Negative values mean that better models score lower;
``p`` is the one-sided p of a value so low if case and rest were unrelated (t-test of a
correlation), and a finding where it is below ``alpha``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from kgbench.analysis.registry import Metric, Option, Purpose, Round, Solved, analysis
from kgbench.model import TOLERANCE
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo
from kgbench.scores.inference import inference
from kgbench.scores.reading import (
    BY_CASE,
    CHOOSING,
    Answers,
    Item,
    Repetitions,
    repetitions,
    threshold,
    undeclared_note,
)
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_scores, parts_by_task, score_name
from kgbench.statistics.histogram import mean
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Ref, Table, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CORRELATED = 4
"""The least number of models for an item-rest correlation."""
COLUMNS = (
    Column("task", "Task"),
    Column("case", "Case"),
    Column("metric", "Metric"),
    Column("models", "Models", Kind.COUNT),
    Column("n", "n", Kind.COUNT),
    Column("mean", "Mean", Kind.SCORE),
    Column("solved", "Solved", Kind.SHARE),
    Column("item_rest", "Item-rest r", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("finding", "Finding"),
    Column("dialogue", "kgbench show"),
)
QUERIES = (*CHOOSING, *BY_CASE)


class Finding(StrEnum):
    """The reasons why a case is suspect."""

    REVERSED = "better models score lower"
    NOBODY = "nobody solves it"
    EVERYBODY = "everybody solves it"


@dataclass(frozen=True, slots=True)
class ItemStatistics:
    """The item-rest correlation of a case, and the one-sided p of a value so low.

    ``best`` is the model with the best scores on the other cases.
    """

    correlation: float | None
    p: float | None
    best: str


@analysis("items", Purpose.UNDERSTAND, parts=parts_by_task)
def items(
    store: Store,
    selection: Selection,
    *,
    solved: Solved = None,
    metric: Metric = None,
    round: Round = None,
    alpha: Annotated[
        float,
        Option("Level of the test of item-rest correlations.", min=0, max=1, panel="Tests"),
    ] = 0.05,
    suspect: Annotated[bool, Option("Show only the cases with a finding.")] = False,
) -> Table:
    """Find suspect cases: harder for better models, solved by no model, or solved by every model.

    >>> results = kgbench.open("kgbench-results")
    >>> sorted(set(results.items().column("models")))
    [2]
    """
    inference_ = inference(by="correlation", confidence=None, alpha=alpha)
    chosen = chosen_scores(store, selection.tasks, metric, round)
    metrics, tasks = catalogue.metrics(store), catalogue.tasks(store)
    reached = repetitions(store, selection, chosen)
    metric_of = {item: metrics[chosen[item.task].metric] for item in reached}
    models = sorted({model for by_model in reached.values() for model in by_model})
    shares = {item: _solved(reached[item], metric_of[item], solved) for item in reached}
    related = statistics(reached, metric_of, models)
    rows = []
    for item, by_model in reached.items():
        item_statistics = related[item]
        finding = _finding(by_model, shares[item], item_statistics, alpha)
        if suspect and finding is None:
            continue
        row = (
            tasks[item.task].name,
            Ref.below(store.iris.base, item.case),
            *_values(by_model, shares[item], score_name(chosen[item.task], metrics)),
            item_statistics.correlation,
            item_statistics.p,
            finding,
            Ref.below(store.iris.base, worst(by_model[item_statistics.best], metric_of[item])),
        )
        rows.append((finding, item_statistics, row))
    rows.sort(key=lambda entry: _order(*entry))
    return Table(
        title=f"Cases ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(row for *_, row in rows),
        notes=(
            *_notes(reached, metric_of, models, alpha=alpha, solved=solved),
            inference_.note,
        ),
        queries=QUERIES,
        context={
            **selection.context,
            "solved": solved,
            "metric": metric or "main",
            **inference_.context,
            "suspect": suspect,
        },
    )


def worst(answers: Answers, metric: MetricInfo) -> str:
    """Return the dialogue (IRI) with the worst value by the metric; of ties, the first by IRI."""
    lowest = min(answers.counts) if metric.higher_is_better else max(answers.counts)
    return answers.dialogues[lowest]


def statistics(
    reached: Repetitions, metrics: Mapping[Item, MetricInfo], models: Sequence[str]
) -> dict[Item, ItemStatistics]:
    """Correlate each item with the rest.

    Scores are oriented so that higher is better, and scaled to 0..1 by the declared range of their
    metric where it has two ends. The rest score of a model is its mean distance from the means of
    all other items that it was scored on. Where all models have all items, it differs from the mean
    of the rest by a constant, and the correlation is the usual one.
    """
    import numpy as np

    values = np.full((len(reached), len(models)), np.nan)
    columns = {model: column for column, model in enumerate(models)}
    for number, (item, by_model) in enumerate(reached.items()):
        for model, answers in by_model.items():
            values[number, columns[model]] = _scaled(answers.values.mean or 0.0, metrics[item])
    scored = ~np.isnan(values)
    distances = np.where(scored, values - np.nanmean(values, axis=1, keepdims=True), 0.0)
    numbers_of_others = scored.sum(axis=0) - scored
    rest = (distances.sum(axis=0) - distances) / np.where(
        numbers_of_others > 0, numbers_of_others, 1
    )
    counted = scored & (numbers_of_others > 0)
    return {
        item: _statistics(values[number], rest[number], counted[number], models)
        for number, item in enumerate(reached)
    }


def _statistics(
    values: NDArray[np.float64],
    rest: NDArray[np.float64],
    counted: NDArray[np.bool_],
    models: Sequence[str],
) -> ItemStatistics:
    import numpy as np
    from scipy.special import stdtr  # type: ignore[import-untyped]

    scored = ~np.isnan(values)
    best = models[int(np.argmax(np.where(scored, rest, -np.inf)))]
    x, y = values[counted], rest[counted]
    if len(x) < CORRELATED or np.ptp(x) < TOLERANCE or np.ptp(y) < TOLERANCE:
        return ItemStatistics(None, None, best)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    freedom = len(x) - 2
    t = math.copysign(math.inf, r) if abs(r) == 1 else r * math.sqrt(freedom / (1 - r * r))
    return ItemStatistics(r, float(stdtr(freedom, t)), best)


def _scaled(value: float, metric: MetricInfo) -> float:
    low, high = metric.bounds
    if low is not None and high is not None and low < high:
        value = (value - low) / (high - low)
    return value if metric.higher_is_better else -value


def _solved(
    by_model: Mapping[str, Answers], metric: MetricInfo, solved: float | None
) -> dict[str, float] | None:
    """Return the share of tries that each model solved; ``None`` without a success threshold."""
    success = threshold(metric, solved)
    if success is None:
        return None
    return {
        model: answers.solved(metric, success) / answers.values.n
        for model, answers in by_model.items()
    }


def _finding(
    by_model: Mapping[str, Answers],
    shares: Mapping[str, float] | None,
    item_statistics: ItemStatistics,
    alpha: float,
) -> Finding | None:
    r, p = item_statistics.correlation, item_statistics.p
    if r is not None and p is not None and r < 0 and p < alpha:
        return Finding.REVERSED
    if shares is None or len(by_model) == 1:  # one model is not everybody
        return None
    if not any(shares.values()):
        return Finding.NOBODY
    return Finding.EVERYBODY if all(share == 1 for share in shares.values()) else None


def _values(
    by_model: Mapping[str, Answers], shares: Mapping[str, float] | None, name: str
) -> tuple[Value, ...]:
    """Return metric, models, n, and the means over models of mean score and share solved."""
    score = mean(answers.values.mean or 0.0 for answers in by_model.values())
    solved = None if shares is None else mean(shares.values())
    n = sum(answers.values.n for answers in by_model.values())
    return (name, len(by_model), n, score, solved)


def _order(
    finding: Finding | None, item_statistics: ItemStatistics, row: tuple[Value, ...]
) -> tuple[object, ...]:
    """Return a sort key: reversed cases first, then unsolved ones; always solved ones last."""
    order = {Finding.REVERSED: 0, Finding.NOBODY: 1, None: 2, Finding.EVERYBODY: 3}
    r = math.inf if item_statistics.correlation is None else item_statistics.correlation
    return (order[finding], r, str(row[0]), str(row[1]))


def _notes(
    reached: Repetitions,
    metrics: Mapping[Item, MetricInfo],
    models: Sequence[str],
    *,
    alpha: float,
    solved: float | None,
) -> Iterator[str]:
    if len(models) < CORRELATED:
        yield (
            f"Item-rest correlations need at least {CORRELATED} models; {len(models)} have scores."
        )
    else:
        yield (
            f"Item-rest r correlates, over models, the score on a case with that on all others; "
            f"'{Finding.REVERSED}' is r < 0 at p < {alpha:g}, where chance alone would give "
            f"{alpha * len(reached):.1f} of {len(reached)} cases."
        )
    yield "The dialogue is the worst one on the case by the model that does best on the others."
    missing = {m.iri: m for m in metrics.values() if threshold(m, solved) is None}
    if missing:
        yield undeclared_note(missing)
