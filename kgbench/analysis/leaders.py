# SPDX-License-Identifier: Apache-2.0
"""Tests of a leaderboard against the best model, intervals, and ranges of ranks.

There are two tests. ``clustered`` is for an :class:`~kgbench.scores.inference.Estimand`, by
default ``available``: see :mod:`kgbench.statistics.clusters`. ``paired`` is that of the published
leaderboard (LLM-KG-Bench 3, Semantic Web Journal 2025, section 4.2.2 and table 6): a paired t-test
of two models over all values, unweighted and uncorrected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, groupby

from kgbench.analysis.leaderboard import (
    Standing,
    standings,
    standings_table,
)
from kgbench.analysis.ranking import (
    Case,
    Rivals,
    TestedPair,
    Units,
    all_tested,
    groups,
    rank_ranges,
    significantly_worse,
)
from kgbench.analysis.registry import OptionRefused
from kgbench.errors import QueryError
from kgbench.scores import catalogue
from kgbench.scores.declared import TESTS, ScoreSet, score_set
from kgbench.scores.inference import (
    AVAILABLE,
    CASES,
    DIALOGUES,
    Inference,
    check_estimand,
    find_estimand,
    inference,
)
from kgbench.scores.reading import ROWS, Score, score_rows
from kgbench.scores.selection import Selection
from kgbench.statistics.intervals import Bounds
from kgbench.statistics.significance import paired_test
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

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


def leaders(
    store: Store,
    selection: Selection,
    combined: ScoreSet | None = None,
    *,
    test: str | None = None,
    estimand: str | None = None,
    alpha: float = 0.05,
    common: bool = False,
) -> Table:
    """Make the leaderboard with tests of the differences to the best model.

    Each ranked model has p against the best of the better models that it can be tested against, by
    ``test`` (``clustered`` with Holm's correction for all pairs of models, or ``paired``; default:
    the test of the score set), a 95 % interval of its score, and a range of ranks. It is a leader
    if rank 1 is in this range. Without a test these cells are empty. Unranked models have only an
    interval. ``estimand`` is that of the test ``clustered``, by default that of the score set; the
    test ``paired`` is about dialogues as if independent. ``clusters`` is the number of clusters,
    and ``group`` has a letter for each group of models that the tests do not distinguish. No
    interval is given where a task of the model supports none. With ``common``, only tasks count
    that all models were scored on, as in :func:`~kgbench.analysis.leaderboard.leaderboard`. Raises
    :class:`~kgbench.errors.QueryError` for an unknown test or estimand, and where models have no
    common task.
    """
    combined = combined or score_set("main")
    test = combined.test if test is None else test
    if test not in TESTS:
        raise QueryError(f"there is no test '{test}'; there are: {', '.join(TESTS)}")
    tasks = catalogue.tasks(store)
    all_standings = standings(store, selection, combined, tasks, common=common)
    scored = {score for standing in all_standings for score in standing.parts}
    metrics = catalogue.metrics(store)
    weights = combined.weights(tasks, metrics, scored)
    table = standings_table(store, selection, combined, common=common, of=all_standings)
    units = _units(store, selection, weights)
    paired = test == "paired"
    if paired and estimand not in (None, DIALOGUES):
        raise OptionRefused("estimand", "the paired test is about dialogues as if independent")
    name = DIALOGUES if paired else check_estimand(estimand or combined.estimand or AVAILABLE)
    ranked = [standing.model for standing in all_standings if standing.complete]
    rivals = Rivals(
        units,
        weights,
        [standing.model for standing in all_standings if standing.parts],
        find_estimand(name),
    )
    tested = _paired(units, ranked) if paired else all_tested(rivals, ranked, alpha)
    inference_ = inference(
        CASES if name == AVAILABLE and not rivals.single else name, test, alpha=alpha
    )
    bounds = Bounds.around(metrics[score.metric].bounds for score in units)
    extra = _cells(all_standings, rivals, tested, bounds, alpha)
    return replace(
        table,
        columns=(*table.columns, *COLUMNS),
        rows=tuple((*row, *more) for row, more in zip(table.rows, extra, strict=True)),
        notes=(*table.notes, *_notes(inference_, alpha, corrected=not paired)),
        queries=tuple(dict.fromkeys((*table.queries, *ROWS))),
        context={**table.context, "test": test, **inference_.context},
    )


def _cells(
    all_standings: Sequence[Standing],
    rivals: Rivals,
    tested: Mapping[tuple[str, str], TestedPair],
    bounds: Bounds,
    alpha: float,
) -> list[tuple[Value, ...]]:
    """Return the cells of :data:`COLUMNS` of each model; it leads if it can have the first rank."""
    scores = {standing.model: standing.score for standing in all_standings if standing.complete}
    values = {model: score for model, score in scores.items() if score is not None}
    # A test is about what two models share; where it contradicts their scores, it says nothing
    # about their ranks.
    worse = {
        model: {other for other in others if values[model] > values[other]}
        for model, others in significantly_worse(tested, alpha).items()
    }
    ranges = rank_ranges(worse, len(scores))
    alike = {pair for pair in tested if pair[1] not in worse[pair[0]] | worse[pair[1]]}
    lettered = groups([model for model in scores if model in ranges], alike)

    def test(better: str, model: str) -> tuple[float | None, int]:
        pair = tested.get((better, model))
        return (None, 0) if pair is None else (pair.p, pair.clusters)

    rows: list[tuple[Value, ...]] = []
    for standing in all_standings:
        model = standing.model
        if not standing.parts:
            rows.append((None,) * len(COLUMNS))
            continue
        clusters = rivals.of(model)
        p = _p_to_best(model, scores, test)
        first, last = ranges.get(model, (None, None))
        leads = None if first is None else first == 1 and (p is None or p >= alpha)
        interval = clusters.interval(bounds) or (None, None)
        rows.append((p, leads, clusters.number, *interval, first, last, lettered.get(model)))
    return rows


def _paired(units: Units, models: Sequence[str]) -> dict[tuple[str, str], TestedPair]:
    """Test all pairs of models by the paired test over all values that both have."""
    tested = {}
    for pair in combinations(models, 2):
        differences = _differences(units, *pair)
        found = paired_test(differences)
        if found is not None:
            tested[pair] = TestedPair(found.p, found.difference, len(differences))
        elif len(differences) > 1:  # all are zero
            tested[pair] = TestedPair(1.0, 0.0, len(differences))
    return tested


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


def _notes(inference_: Inference, alpha: float, *, corrected: bool) -> Iterable[str]:
    yield f"A model leads if its range of ranks includes 1 (alpha {alpha:g})."
    yield inference_.note
    yield (
        f"p and ranges of ranks are {'' if corrected else 'not '}corrected for all pairs of models "
        "(Holm); models that share a letter (Group) do not differ significantly."
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

    @cache  # scores are few, and values may be millions
    def of_score(
        task: str, metric: str, round_: int | None
    ) -> dict[Case, dict[str, list[float]]] | None:
        candidates = (Score(task, metric, r) for r in (round_, None))
        score = next((one for one in candidates if one in weights), None)
        if score is None:
            return None
        return values.setdefault(score, defaultdict(lambda: defaultdict(list)))

    for row in score_rows(store, selection, {score.metric for score in weights}):
        units = of_score(row.task, row.metric, row.round)
        if units is not None:
            units[row.case, row.iteration][row.model].append(row.value)
    return values
