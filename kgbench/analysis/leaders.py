# SPDX-License-Identifier: Apache-2.0
"""The leaderboard with tests against the best model, intervals, and ranges of ranks.

There are three tests. ``clustered`` is for an :class:`~kgbench.analysis.estimands.Estimand`, by
default cases of this kind: see :mod:`kgbench.analysis.clusters`. ``bootstrap`` resamples cases
(dialogues where a task has a single case) with the same draws for every model. ``paired`` is the
test of the published leaderboard (LLM-KG-Bench 3, Semantic Web Journal 2025, section 4.2.2 and
table 6): a paired t-test of the best model against each other model over all values, unweighted and
uncorrected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from kgbench.analysis import scores as fetch
from kgbench.analysis.cluster_rows import ROUNDING
from kgbench.analysis.declarations import TESTS, ScoreSet, score_set
from kgbench.analysis.inference import Inference, inference
from kgbench.analysis.intervals import Bounds
from kgbench.analysis.leaderboard import Standing, standings, table_of
from kgbench.analysis.ranking import Case, Rivals, Units, groups, rank_ranges, significantly_worse
from kgbench.analysis.repetitions import repeated_values
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import bootstrap_p, holm, paired_test
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.model import Json
from kgbench.store.protocol import Store

ALPHA, SAMPLES, SEED = 0.05, 2_000, 0  # defaults
COLUMNS = (
    Column("p_best", "p to best", Kind.P),
    Column("leads", "Leads"),
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_score", "Score of interval", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("rank_low", "Rank from", Kind.COUNT),
    Column("rank_high", "to", Kind.COUNT),
    Column("group", "Group"),
)


def arguments(
    name: str = "main",
    declared: str | None = None,
    *,
    answers: str | None = None,
    test: str | None = None,
    estimand: str | None = None,
    alpha: float = ALPHA,
    samples: int = SAMPLES,
    seed: int = SEED,
    common: bool = False,
) -> dict[str, Json]:
    """Return the arguments under which a result of :func:`leaders` is kept in the store.

    Equal requests from the command line, the Python API and the server must give equal arguments.
    ``name`` is that of the score set, ``declared`` the text of the user's file of declarations.
    """
    return {
        "set": name,
        "declared": declared,
        "round": answers,
        "test": test,
        "estimand": estimand,
        "alpha": alpha,
        "samples": samples,
        "seed": seed,
        "common": common,
    }


def leaders(
    store: Store,
    selection: Selection,
    combined: ScoreSet | None = None,
    *,
    test: str | None = None,
    estimand: str | None = None,
    alpha: float = ALPHA,
    samples: int = SAMPLES,
    seed: int = SEED,
    common: bool = False,
) -> Table:
    """Make the leaderboard with tests of the differences to the best model.

    Each ranked model has p against the best model by ``test`` (``clustered`` and ``bootstrap`` with
    Holm's correction, or ``paired``; default: the test of the score set), whether it is a leader
    (not significantly worse at ``alpha``), a 95 % interval and a range of ranks. Unranked models
    have only an interval. ``estimand`` is that of the test ``clustered``, by default that of the
    score set; ``clusters`` is the number of clusters, ``ci_score`` the score over the tasks
    that support a claim, and ``group`` has a letter for each group of models that the tests do not
    distinguish. ``samples`` and ``seed`` are those of the bootstrap, which the tests ``bootstrap``
    and ``paired`` use for intervals and ranks. With ``common``, only tasks count that all models
    were scored on, as in :func:`~kgbench.analysis.leaderboard.leaderboard`. Raises
    :class:`~kgbench.errors.QueryError` for an unknown test or estimand, and where models have no
    common task.
    """
    combined = combined or score_set("main")
    test = combined.test if test is None else test
    if test not in TESTS:
        raise QueryError(f"there is no test '{test}'; there are: {', '.join(TESTS)}")
    tasks = fetch.tasks(store)
    all_standings = standings(store, selection, combined, tasks, common=common)
    scored = {score.task for standing in all_standings for score in standing.parts}
    counted = {iri: task for iri, task in tasks.items() if iri in scored} if common else tasks
    metrics = fetch.metrics(store)
    weights = combined.weights(counted, metrics)
    table = table_of(store, selection, combined, all_standings, common=common)
    units = _units(store, selection, weights)
    if test == "clustered":
        inference_ = inference(estimand or combined.estimand, "clustered", alpha=alpha)
        bounds = Bounds.around(metrics[score.metric].bounds for score in units)
        rivals = Rivals(
            units,
            weights,
            [standing.model for standing in all_standings if standing.parts],
            inference_.estimand,
        )
        extra = _clustered(all_standings, rivals, bounds, alpha)
        notes = _claims(inference_, rivals, alpha)
        more: dict[str, Value] = {"claimed_tasks": rivals.tasks}
    else:
        ranked = [standing.model for standing in all_standings if standing.complete]
        unranked = [
            standing.model for standing in all_standings if standing.parts and not standing.complete
        ]
        resampled = _Resampled(units, weights, ranked, unranked, samples=samples, seed=seed)
        extra = _resampled(all_standings, units, resampled, test, alpha)
        inference_ = inference(by=test, alpha=alpha)
        notes = (*_notes(test, alpha, samples), inference_.note)
        more = {"samples": samples, "seed": seed}
    return replace(
        table,
        columns=(*table.columns, *COLUMNS),
        rows=tuple((*row, *more) for row, more in zip(table.rows, extra, strict=True)),
        notes=(*table.notes, *notes),
        queries=tuple(dict.fromkeys((*table.queries, *fetch.SINGLE))),
        context={**table.context, "test": test, **inference_.context, **more},
    )


def _clustered(
    all_standings: Sequence[Standing], rivals: Rivals, bounds: Bounds, alpha: float
) -> list[tuple[Value, ...]]:
    """Return the additional cells of each model for the test ``clustered``."""
    ranked = [standing.model for standing in all_standings if standing.complete]
    against = list(rivals.against(ranked[0], ranked[1:])) if ranked else []
    p_of = dict(zip(ranked[1:], holm([pair.p for pair in against]), strict=True))
    behind = {m for m, pair in zip(ranked[1:], against, strict=True) if (pair.mean or 0) > 0}
    worse = significantly_worse(rivals, ranked, alpha)
    ranges, lettered = rank_ranges(worse), groups(ranked, worse)
    rows: list[tuple[Value, ...]] = []
    for standing in all_standings:
        if not standing.parts:
            rows.append((None,) * len(COLUMNS))
            continue
        clusters = rivals.of(standing.model)
        interval = clusters.interval(bounds) or (None, None)
        p = p_of.get(standing.model)
        is_worse = p is not None and p < alpha and standing.model in behind
        rows.append(
            (
                p,
                not is_worse if standing.complete else None,
                clusters.number,
                clusters.mean,
                *interval,
                *ranges.get(standing.model, (None, None)),
                lettered.get(standing.model),
            )
        )
    return rows


def _resampled(
    all_standings: Sequence[Standing], units: Units, resampled: _Resampled, test: str, alpha: float
) -> list[tuple[Value, ...]]:
    """Return the additional cells of each model for the tests that use the bootstrap."""
    ranked = [standing.model for standing in all_standings if standing.complete]
    if test == "paired":
        against = [_paired(units, ranked[0], model) for model in ranked[1:]]
    else:
        against = holm([resampled.p_against(ranked[0], model) for model in ranked[1:]])
    p_of = dict(zip(ranked[1:], against, strict=True))
    rows: list[tuple[Value, ...]] = []
    for standing in all_standings:
        p = p_of.get(standing.model)
        leads = (p is None or p >= alpha) if standing.complete else None
        interval = resampled.interval(standing.model) if standing.parts else (None, None)
        ranks = resampled.ranks(standing.model) if standing.complete else (None, None)
        score = standing.score if standing.parts else None
        rows.append((p, leads, None, score, *interval, *ranks, None))
    return rows


def _claims(inference_: Inference, rivals: Rivals, alpha: float) -> Iterable[str]:
    estimand = inference_.estimand
    yield (
        f"Leads: not significantly worse than the best model (clustered t-test, p corrected by "
        f"Holm; alpha {alpha:g})."
    )
    yield inference_.note
    if rivals.left_out:
        yield (
            f"Number of {estimand.fixed}s with one {estimand.sampled}: {rivals.left_out}. They "
            f"support no claim about {estimand.label}. Number of tasks that score of interval, "
            f"tests and ranks cover: {rivals.tasks}."
        )
    yield (
        "Ranges of ranks hold simultaneously, from tests of all pairs corrected by Holm. Models "
        "with a common letter (Group) do not differ significantly."
    )


def _notes(test: str, alpha: float, samples: int) -> Iterable[str]:
    descriptions = {
        "bootstrap": "bootstrap, p corrected by Holm",
        "paired": "paired t-test over all values that both models have, unweighted",
    }
    return (
        (
            f"Leads: no significant difference to the best model ({descriptions[test]}; "
            f"alpha {alpha:g})."
        ),
        f"Bootstrap over cases, or dialogues where a task has one case ({samples} samples).",
    )


def _paired(units: Units, best: str, model: str) -> float | None:
    """Return p of the paired differences of two models; ``None`` where it is undefined."""
    differences = [
        a - b
        for dialogues in units.values()
        for by_model in dialogues.values()
        for a, b in zip(by_model.get(best, ()), by_model.get(model, ()), strict=False)
    ]
    test = paired_test(differences)
    return None if test is None else test.p


class _Resampled:
    """Combined scores of all models in bootstrap samples of cases, the same for every model."""

    def __init__(
        self,
        units: Units,
        weights: Mapping[Score, Fraction],
        ranked: list[str],
        unranked: list[str],
        *,
        samples: int,
        seed: int,
    ) -> None:
        import numpy as np

        generator = np.random.default_rng(seed)
        models = [*ranked, *unranked]
        self._ranked = len(ranked)
        self._column = {model: column for column, model in enumerate(models)}
        total = np.zeros((samples, len(models)))
        weight = np.zeros((samples, len(models)))
        for score, dialogues in sorted(units.items(), key=str):
            sums, sizes = self._matrices(_by_case(dialogues))
            draws = generator.multinomial(
                sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), size=samples
            )
            values, numbers = draws @ sums.T, draws @ sizes.T
            has_values = numbers > 0
            share = float(weights[score] * len(weights))  # 1.0 where all count alike
            total[has_values] += share * values[has_values] / numbers[has_values]
            weight[has_values] += share
        with np.errstate(invalid="ignore"):
            self._scores = total / weight

    def _matrices(self, cases: Mapping[Case, Mapping[str, Sequence[float]]]) -> Any:
        import numpy as np

        sums = np.zeros((len(self._column), len(cases)))
        sizes = np.zeros_like(sums)
        for column, (_, by_model) in enumerate(sorted(cases.items(), key=str)):
            for model, values in by_model.items():
                sums[self._column[model], column] = sum(values)
                sizes[self._column[model], column] = len(values)
        return sums, sizes

    def _with(self, *models: str) -> Any:
        """Return the samples with scores of all ``models``; some samples miss rare cases."""
        import numpy as np

        columns = [self._column[model] for model in models]
        return self._scores[~np.isnan(self._scores[:, columns]).any(axis=1)]

    def interval(self, model: str) -> tuple[float | None, float | None]:
        """Return the middle 95 % of the model's scores; ``None`` where no sample has one.

        Both ends lie among the scores of samples, so they never leave the range of the metrics.
        """
        import numpy as np

        scores = self._with(model)[:, self._column[model]]
        if not len(scores):
            return None, None
        low, high = np.quantile(scores, [0.025, 0.975])
        return float(low), float(high)

    def ranks(self, model: str) -> tuple[int | None, int | None]:
        """Return the middle 95 % of a ranked model's ranks; ``None`` where no sample has one."""
        import numpy as np

        scores = self._with(model)[:, : self._ranked]
        if not len(scores):
            return None, None
        ranks = 1 + (scores > scores[:, [self._column[model]]] + ROUNDING).sum(axis=1)
        low, high = np.quantile(ranks, [0.025, 0.975], method="inverted_cdf")
        return int(low), int(high)

    def p_against(self, best: str, model: str) -> float | None:
        """Return two-sided p of the difference to the best model; ``None`` without samples."""
        scores = self._with(best, model)
        differences = scores[:, self._column[best]] - scores[:, self._column[model]]
        return bootstrap_p([float(d) for d in differences])


def _units(store: Store, selection: Selection, weights: Mapping[Score, Fraction]) -> Units:
    """Group values by score, then by case and iteration, then by model."""
    values: dict[Score, dict[Case, dict[str, list[float]]]] = {}
    metrics = {score.metric for score in weights}

    @cache  # cells are few, and values may be millions
    def of_cell(cell: fetch.Cell) -> dict[Case, dict[str, list[float]]] | None:
        candidates = (Score(cell.task, cell.metric, r) for r in (cell.round, None))
        score = next((one for one in candidates if one in weights), None)
        if score is None:
            return None
        return values.setdefault(score, defaultdict(lambda: defaultdict(list)))

    for cell, reached in repeated_values(store, selection, metrics):
        units = of_cell(cell)
        if units is None:
            continue
        for iteration in reached.iterations:
            of_case = units[reached.case, iteration]
            if reached.times > 0:
                of_case[cell.model] += [reached.value] * reached.times
                continue
            for _ in range(-reached.times):
                of_case[cell.model].remove(reached.value)
            if not of_case[cell.model]:
                del of_case[cell.model]
            if not of_case:
                del units[reached.case, iteration]
    return values


def _by_case(
    units: Mapping[Case, Mapping[str, Sequence[float]]],
) -> Mapping[Case, Mapping[str, Sequence[float]]]:
    """Group values by units of resampling: cases, or dialogues where there is a single case."""
    if len({case for case, _ in units}) == 1:
        return units
    cases: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (case, _), by_model in units.items():
        for model, values in by_model.items():
            cases[case, None][model] += values
    return cases
