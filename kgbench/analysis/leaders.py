# SPDX-License-Identifier: Apache-2.0
"""The leaderboard with one test against the best model, intervals, and ranges of ranks.

``clustered`` is about an :class:`~kgbench.analysis.estimands.Estimand`, by default cases of this
kind: see :mod:`kgbench.analysis.clusters`. ``bootstrap`` draws cases (dialogues where a task has a
single case) with the same draws for every model. ``paired`` is the test of the published
leaderboard (LLM-KG-Bench 3, Semantic Web Journal 2025, section 4.2.2 and table 6): a paired t-test
of the best model against each other one over all values, unweighted and uncorrected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score
from kgbench.analysis.declarations import TESTS, ScoreSet, score_set
from kgbench.analysis.inference import Inference, inference
from kgbench.analysis.intervals import Bounds
from kgbench.analysis.leaderboard import Standing, standings, table_of
from kgbench.analysis.ranking import Case, Rivals, Units, groups, rank_ranges, told_apart
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import bootstrap_p, holm, paired_test
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.model import Json
from kgbench.store.protocol import Store

ALPHA, SAMPLES, SEED = 0.05, 2_000, 0  # unless others are asked for
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
    about: str | None = None,
    alpha: float = ALPHA,
    samples: int = SAMPLES,
    seed: int = SEED,
    common: bool = False,
) -> dict[str, Json]:
    """What :func:`leaders` of a set of scores is kept under, the same for all who ask the same.

    ``name`` is that of the set, ``declared`` the text of the file with declarations of one's own.
    """
    return {
        "set": name,
        "declared": declared,
        "round": answers,
        "test": test,
        "estimand": about,
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
    about: str | None = None,
    alpha: float = ALPHA,
    samples: int = SAMPLES,
    seed: int = SEED,
    common: bool = False,
) -> Table:
    """The leaderboard, with what can be said of differences to the best model.

    Per ranked model: p against the best by ``test`` (``clustered`` and ``bootstrap`` with Holm's
    correction, or ``paired``; default: that of the score set), whether the model belongs to the
    leaders (it is not told to be worse at ``alpha``), a 95 % interval and a range of ranks. Models
    that are not ranked have an interval alone. ``about`` names what the test ``clustered``
    generalises to, by default what the score set declares; ``clusters`` is their number,
    ``ci_score`` the score over what supports such a claim, and ``group`` has a letter for each
    group of models that are not told apart. ``samples`` and ``seed`` are those of the bootstrap,
    which the other tests use for intervals and ranks. With ``common`` only tasks count that all
    models were scored on, as in :func:`~kgbench.analysis.leaderboard.leaderboard`. Raises
    :class:`~kgbench.errors.QueryError` for an unknown test or estimand, and where no task is
    common.
    """
    combined = combined or score_set("main")
    test = combined.test if test is None else test
    if test not in TESTS:
        raise QueryError(f"there is no test '{test}'; there are: {', '.join(TESTS)}")
    tasks = fetch.tasks(store)
    found = standings(store, selection, combined, tasks, common=common)
    scored = {score.task for one in found for score in one.parts}
    counted = {iri: task for iri, task in tasks.items() if iri in scored} if common else tasks
    metrics = fetch.metrics(store)
    wanted = combined.weights(counted, metrics)
    table = table_of(store, selection, combined, found, common=common)
    units = _units(store, selection, wanted)
    if test == "clustered":
        how = inference(about or combined.about, "clustered", alpha=alpha)
        bounds = Bounds.around(metrics[score.metric].bounds for score in units)
        rivals = Rivals(units, wanted, [one.model for one in found if one.parts], how.about)
        extra = _clustered(found, rivals, bounds, alpha)
        notes = _claims(how, rivals, alpha)
        more: dict[str, Value] = {"claimed_tasks": rivals.tasks}
    else:
        ranked = [one.model for one in found if one.complete]
        others = [one.model for one in found if one.parts and not one.complete]
        drawn = _Resampled(units, wanted, ranked, others, samples=samples, seed=seed)
        extra = _resampled(found, units, drawn, test, alpha)
        how = inference(by=test, alpha=alpha)
        notes = (*_notes(test, alpha, samples), how.note)
        more = {"samples": samples, "seed": seed}
    return replace(
        table,
        columns=(*table.columns, *COLUMNS),
        rows=tuple((*row, *more) for row, more in zip(table.rows, extra, strict=True)),
        notes=(*table.notes, *notes),
        queries=tuple(dict.fromkeys((*table.queries, *fetch.SINGLE))),
        context={**table.context, "test": test, **how.context, **more},
    )


def _clustered(
    found: Sequence[Standing], rivals: Rivals, bounds: Bounds, alpha: float
) -> list[tuple[Value, ...]]:
    """The further cells of each model, tested in clusters."""
    ranked = [one.model for one in found if one.complete]
    against = [rivals.between(ranked[0], model) for model in ranked[1:]]
    p_of = dict(zip(ranked[1:], holm([one.p for one in against]), strict=True))
    behind = {m for m, one in zip(ranked[1:], against, strict=True) if (one.mean or 0) > 0}
    worse = told_apart(rivals, ranked, alpha)
    ranges, lettered = rank_ranges(worse), groups(ranked, worse)
    rows: list[tuple[Value, ...]] = []
    for one in found:
        if not one.parts:
            rows.append((None,) * len(COLUMNS))
            continue
        clusters = rivals.of(one.model)
        interval = clusters.interval(bounds) or (None, None)
        p = p_of.get(one.model)
        lost = p is not None and p < alpha and one.model in behind
        rows.append(
            (
                p,
                not lost if one.complete else None,
                clusters.number,
                clusters.mean,
                *interval,
                *ranges.get(one.model, (None, None)),
                lettered.get(one.model),
            )
        )
    return rows


def _resampled(
    found: Sequence[Standing], units: Units, drawn: _Resampled, test: str, alpha: float
) -> list[tuple[Value, ...]]:
    """The further cells of each model, with the bootstrap."""
    ranked = [one.model for one in found if one.complete]
    if test == "paired":
        against = [_paired(units, ranked[0], model) for model in ranked[1:]]
    else:
        against = holm([drawn.p_against(ranked[0], model) for model in ranked[1:]])
    p_of = dict(zip(ranked[1:], against, strict=True))
    rows: list[tuple[Value, ...]] = []
    for one in found:
        p = p_of.get(one.model)
        leads = (p is None or p >= alpha) if one.complete else None
        interval = drawn.interval(one.model) if one.parts else (None, None)
        ranks = drawn.ranks(one.model) if one.complete else (None, None)
        score = one.score if one.parts else None
        rows.append((p, leads, None, score, *interval, *ranks, None))
    return rows


def _claims(how: Inference, rivals: Rivals, alpha: float) -> Iterable[str]:
    about = how.about
    yield (
        f"Leads: not significantly worse than the best model (clustered t-test, p corrected by "
        f"Holm; alpha {alpha:g})."
    )
    yield how.note
    if rivals.left_out:
        yield (
            f"Number of {about.fixed}s with one {about.sampled}: {rivals.left_out}. They support "
            f"no claim about {about.label}. Number of tasks that score of interval, tests and "
            f"ranks are about: {rivals.tasks}."
        )
    yield (
        "Ranges of ranks hold together, from tests of all pairs corrected by Holm. Models with a "
        "common letter (Group) are not told apart."
    )


def _notes(test: str, alpha: float, samples: int) -> Iterable[str]:
    named = {
        "bootstrap": "bootstrap, p corrected by Holm",
        "paired": "paired t-test over all values that both have, unweighted",
    }
    return (
        f"Leads: no significant difference to the best model ({named[test]}; alpha {alpha:g}).",
        f"Bootstrap over cases, or dialogues where a task has one case ({samples} samples).",
    )


def _paired(units: Units, best: str, model: str) -> float | None:
    """P of the paired differences of two models; ``None`` where it is undefined."""
    differences = [
        a - b
        for dialogues in units.values()
        for by_model in dialogues.values()
        for a, b in zip(by_model.get(best, ()), by_model.get(model, ()), strict=False)
    ]
    found = paired_test(differences)
    return None if found is None else found.p


class _Resampled:
    """Combined scores of all models under resampling of cases, the same draws for every model."""

    def __init__(
        self,
        units: Units,
        weights: Mapping[Score, Fraction],
        ranked: list[str],
        others: list[str],
        *,
        samples: int,
        seed: int,
    ) -> None:
        import numpy as np

        generator = np.random.default_rng(seed)
        models = [*ranked, *others]
        self._ranked = len(ranked)
        self._place = {model: place for place, model in enumerate(models)}
        total = np.zeros((samples, len(models)))
        weight = np.zeros((samples, len(models)))
        for score, dialogues in sorted(units.items(), key=str):
            sums, sizes = self._matrices(_by_case(dialogues))
            drawn = generator.multinomial(
                sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), size=samples
            )
            values, numbers = drawn @ sums.T, drawn @ sizes.T
            there = numbers > 0
            share = float(weights[score] * len(weights))  # 1.0 where all count alike
            total[there] += share * values[there] / numbers[there]
            weight[there] += share
        with np.errstate(invalid="ignore"):
            self._scores = total / weight

    def _matrices(self, cases: Mapping[Case, Mapping[str, Sequence[float]]]) -> Any:
        import numpy as np

        sums = np.zeros((len(self._place), len(cases)))
        sizes = np.zeros_like(sums)
        for column, (_, by_model) in enumerate(sorted(cases.items(), key=str)):
            for model, values in by_model.items():
                sums[self._place[model], column] = sum(values)
                sizes[self._place[model], column] = len(values)
        return sums, sizes

    def _with(self, *models: str) -> Any:
        """The samples in which all ``models`` have a score: of rare cases none may be drawn."""
        import numpy as np

        places = [self._place[model] for model in models]
        return self._scores[~np.isnan(self._scores[:, places]).any(axis=1)]

    def interval(self, model: str) -> tuple[float | None, float | None]:
        """The middle 95 % of the model's score; ``None`` where no sample has one.

        Both ends are scores of samples, so they never leave the range of the metrics.
        """
        import numpy as np

        scores = self._with(model)[:, self._place[model]]
        if not len(scores):
            return None, None
        low, high = np.quantile(scores, [0.025, 0.975])
        return float(low), float(high)

    def ranks(self, model: str) -> tuple[int | None, int | None]:
        """The middle 95 % of a ranked model's rank; ``None`` where no sample has one."""
        import numpy as np

        scores = self._with(model)[:, : self._ranked]
        if not len(scores):
            return None, None
        ranks = 1 + (scores > scores[:, [self._place[model]]]).sum(axis=1)
        low, high = np.quantile(ranks, [0.025, 0.975], method="inverted_cdf")
        return int(low), int(high)

    def p_against(self, best: str, model: str) -> float | None:
        """Two-sided p of the difference to the best model; ``None`` without common samples."""
        scores = self._with(best, model)
        differences = scores[:, self._place[best]] - scores[:, self._place[model]]
        return bootstrap_p([float(d) for d in differences])


def _units(store: Store, selection: Selection, wanted: Mapping[Score, Fraction]) -> Units:
    """Values by score, by case and iteration, and by model."""
    found: dict[Score, dict[Case, dict[str, list[float]]]] = {}
    metrics = {score.metric for score in wanted}
    for (model, task, metric, round_), single in fetch.single_values(store, selection, metrics):
        of_row = (Score(task, metric, r) for r in (round_, None))
        score = next((one for one in of_row if one in wanted), None)
        if score is None:
            continue
        units = found.setdefault(score, defaultdict(lambda: defaultdict(list)))
        of_case = units[single.case, single.iteration]
        if single.times > 0:
            of_case[model] += [single.value] * single.times
            continue
        for _ in range(-single.times):
            of_case[model].remove(single.value)
        if not of_case[model]:
            del of_case[model]
        if not of_case:
            del units[single.case, single.iteration]
    return found


def _by_case(
    units: Mapping[Case, Mapping[str, Sequence[float]]],
) -> Mapping[Case, Mapping[str, Sequence[float]]]:
    """The units of resampling: cases, or dialogues where there is a single case."""
    if len({case for case, _ in units}) == 1:
        return units
    cases: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (case, _), by_model in units.items():
        for model, values in by_model.items():
            cases[case, None][model] += values
    return cases
