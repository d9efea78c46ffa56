# SPDX-License-Identifier: Apache-2.0
"""The leaderboard with tests against the best model, intervals, and ranges of ranks.

There are three tests. ``clustered`` is for an :class:`~kgbench.analysis.estimands.Estimand`, by
default ``available``: see :mod:`kgbench.analysis.clusters`. ``bootstrap`` resamples cases
(dialogues where a task has a single case) with the same draws for every model. ``paired`` is the
test of the published leaderboard (LLM-KG-Bench 3, Semantic Web Journal 2025, section 4.2.2 and
table 6): a paired t-test of the best model against each other model over all values, unweighted and
uncorrected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import groupby

from kgbench.analysis import scores as fetch
from kgbench.analysis.declarations import TESTS, ScoreSet, score_set
from kgbench.analysis.estimands import AVAILABLE, CASES, check_estimand, find_estimand
from kgbench.analysis.inference import Inference, inference
from kgbench.analysis.intervals import Bounds, Interval
from kgbench.analysis.leaderboard import Standing, standings, table_of
from kgbench.analysis.ranking import (
    Case,
    Rivals,
    Units,
    all_tested,
    groups,
    rank_ranges,
    significantly_worse,
)
from kgbench.analysis.repetitions import repeated_values
from kgbench.analysis.resampled_scores import ResampledScores
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import holm, paired_test
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.model import Json
from kgbench.store.protocol import Store

ALPHA, SAMPLES, SEED = 0.05, 2_000, 0  # defaults
COLUMNS = (
    Column("p_best", "p to best", Kind.P),
    Column("leads", "Leads"),
    Column("clusters", "Clusters", Kind.COUNT),
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

    Each ranked model has p against the best of the better models that it can be tested against, by
    ``test`` (``clustered`` with Holm's correction for all pairs of models, ``bootstrap`` with
    Holm's, or ``paired``; default: the test of the score set), a 95 % interval of its score, and a
    range of ranks. It is a leader if rank 1 is in this range. Without a test these cells are empty.
    Unranked models have only an interval. ``estimand`` is that of the test ``clustered``, by
    default that of the score set; ``clusters`` is the number of clusters, and ``group`` has a
    letter for each group of models that the tests do not distinguish. No interval is given where
    a task of the model supports none. ``samples`` and ``seed`` are those of the bootstrap, which
    the tests ``bootstrap``
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
        name = check_estimand(estimand or combined.estimand)
        bounds = Bounds.around(metrics[score.metric].bounds for score in units)
        rivals = Rivals(
            units,
            weights,
            [standing.model for standing in all_standings if standing.parts],
            find_estimand(name),
        )
        extra = _clustered(all_standings, rivals, bounds, alpha)
        inference_ = inference(
            CASES if name == AVAILABLE and not rivals.single else name, "clustered", alpha=alpha
        )
        notes = _claims(inference_, alpha)
        more: dict[str, Value] = {}
    else:
        ranked = [standing.model for standing in all_standings if standing.complete]
        unranked = [
            standing.model for standing in all_standings if standing.parts and not standing.complete
        ]
        resampled = ResampledScores(units, weights, ranked, unranked, samples=samples, seed=seed)
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
    scores = {standing.model: standing.score for standing in all_standings if standing.complete}
    ranked = list(scores)
    tested = all_tested(rivals, ranked, alpha)
    worse = significantly_worse(tested, alpha)
    ranges = rank_ranges(worse, len(ranked))
    alike = {pair for pair in tested if pair[1] not in worse[pair[0]] | worse[pair[1]]}
    lettered = groups([model for model in ranked if model in ranges], alike)

    def test(better: str, model: str) -> tuple[float | None, int]:
        pair = tested.get((better, model))
        return (None, 0) if pair is None else (pair.p, pair.clusters)

    rows: list[tuple[Value, ...]] = []
    for standing in all_standings:
        if not standing.parts:
            rows.append((None,) * len(COLUMNS))
            continue
        clusters = rivals.of(standing.model)
        rows.append(
            _cells(
                _p_to_best(standing.model, scores, test),
                alpha,
                clusters.interval(bounds),
                ranges.get(standing.model),
                clusters=clusters.number,
                group=lettered.get(standing.model),
            )
        )
    return rows


def _p_to_best(
    model: str,
    scores: Mapping[str, float | None],
    test: Callable[[str, str], tuple[float | None, int]],
) -> float | None:
    """Return p against the best of the better models that a model can be tested against.

    ``test`` returns p and the number of clusters. Of equally good models, the one with the most
    clusters counts, then that of the greatest p: names never decide.
    """
    own = scores.get(model)
    better = [(score, name) for name, score in scores.items() if score is not None]
    for _, level in groupby(sorted(better, reverse=True), key=lambda entry: entry[0]):
        equal = [name for score, name in level if own is not None and score > own]
        tests = [(n, p) for p, n in (test(name, model) for name in equal) if p is not None]
        if tests:
            return max(tests)[1]
    return None


def _cells(
    p: float | None,
    alpha: float,
    interval: Interval | None,
    ranks: tuple[int | None, int | None] | None,
    *,
    clusters: int | None = None,
    group: str | None = None,
) -> tuple[Value, ...]:
    """Return the cells of :data:`COLUMNS`; a model leads if it can have the first rank."""
    first, last = ranks or (None, None)
    leads = None if first is None else first == 1 and (p is None or p >= alpha)
    return (p, leads, clusters, *(interval or (None, None)), first, last, group)


def _resampled(
    all_standings: Sequence[Standing],
    units: Units,
    resampled: ResampledScores,
    test_name: str,
    alpha: float,
) -> list[tuple[Value, ...]]:
    """Return the additional cells of each model for the tests that use the bootstrap."""
    scores = {standing.model: standing.score for standing in all_standings if standing.complete}

    def test(better: str, model: str) -> tuple[float | None, int]:
        differences = _differences(units, better, model)
        if test_name == "paired":
            found = paired_test(differences)
            return None if found is None else found.p, len(differences)
        p = resampled.p_against(better, model) if differences else None
        return p, len(differences)

    against = [_p_to_best(model, scores, test) for model in scores]
    if test_name == "bootstrap":
        against = holm(against)
    p_of = dict(zip(scores, against, strict=True))
    rows: list[tuple[Value, ...]] = []
    for standing in all_standings:
        model = standing.model
        interval = resampled.interval(model, standing.score) if standing.parts else None
        shares = standing.complete and any(
            _differences(units, model, other) for other in scores if other != model
        )
        ranks = resampled.ranks(model) if shares else None
        rows.append(_cells(p_of.get(model), alpha, interval, ranks))
    return rows


def _claims(inference_: Inference, alpha: float) -> Iterable[str]:
    yield f"A model leads if its range of ranks includes 1 (alpha {alpha:g})."
    yield inference_.note
    yield (
        "p and ranges of ranks are corrected for all pairs of models (Holm); models that share a "
        "letter (Group) do not differ significantly."
    )


def _notes(test: str, alpha: float, samples: int) -> Iterable[str]:
    descriptions = {
        "bootstrap": "bootstrap, p corrected by Holm",
        "paired": "paired t-test over all values that both models have, unweighted",
    }
    return (
        (
            f"A model leads if its range of ranks includes 1 and it does not differ significantly "
            f"from the best ({descriptions[test]}; alpha {alpha:g})."
        ),
        f"Intervals and ranges of ranks come from {samples} bootstrap samples.",
    )


def _differences(units: Units, first: str, second: str) -> list[float]:
    """Return the differences of two models on each dialogue (case and iteration) of both."""
    return [
        a - b
        for dialogues in units.values()
        for by_model in dialogues.values()
        for a, b in zip(by_model.get(first, ()), by_model.get(second, ()), strict=False)
    ]


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
