# SPDX-License-Identifier: Apache-2.0
"""Who leads: the leaderboard with tests against the best model, intervals, and ranks in doubt.

The first test is that of the published leaderboard (LLM-KG-Bench 3, Semantic Web Journal 2025,
section 4.2.2 and table 6): t-tests of the best model against each other one over all values, and
the leaders are those without a significant difference. Beside it stands a bootstrap over cases,
which neither takes answers to the same case for independent nor tests without correction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score
from kgbench.analysis.declarations import ScoreSet, score_set
from kgbench.analysis.leaderboard import standings, table_of
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import bootstrap_p, holm, t_test
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.model import Json
from kgbench.store.protocol import Store

ALPHA, SAMPLES, SEED = 0.05, 2_000, 0  # unless others are asked for
COLUMNS = (
    Column("p_best", "p to best", Kind.P),
    Column("leads", "Leads"),
    Column("boot_low", "Bootstrap from", Kind.SCORE),
    Column("boot_high", "to", Kind.SCORE),
    Column("rank_low", "Rank from", Kind.COUNT),
    Column("rank_high", "to", Kind.COUNT),
    Column("p_boot", "p (Holm)", Kind.P),
    Column("leads_boot", "Leads (bootstrap)"),
)


def arguments(
    name: str = "main",
    declared: str | None = None,
    *,
    alpha: float = ALPHA,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> dict[str, Json]:
    """What :func:`leaders` of a set of scores is kept under, the same for all who ask the same.

    ``name`` is that of the set, ``declared`` the text of the file with declarations of one's own.
    """
    return {"set": name, "declared": declared, "alpha": alpha, "samples": samples, "seed": seed}


def leaders(
    store: Store,
    selection: Selection,
    combined: ScoreSet | None = None,
    *,
    alpha: float = ALPHA,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Table:
    """The leaderboard, with what can be said of differences to the best model.

    Per model: p against the best (Student, all values), bootstrap interval and rank interval at
    95 %, p against the best by bootstrap with Holm's correction, and whether the model belongs to
    the leaders by either.
    """
    combined = combined or score_set("main")
    tasks = fetch.tasks(store)
    wanted = combined.scores(tasks, fetch.metrics(store))
    found = standings(store, selection, wanted, tasks)
    table = table_of(store, selection, combined, found)
    scored = [one.model for one in found if one.score is not None]
    drawn = _Resampled(store, selection, wanted, scored, samples=samples, seed=seed)
    tests = [t_test(found[0].pooled, one.pooled) for one in found]
    against = [None, *(drawn.p_against(scored[0], model) for model in scored[1:])]
    by_model = dict(zip(scored, holm(against[: len(scored)]), strict=True))
    extra: list[tuple[Value, ...]] = []
    for place, (one, test) in enumerate(zip(found, tests, strict=True)):
        if one.score is None:
            extra.append((None,) * len(COLUMNS))
            continue
        p = None if place == 0 or test is None else test.p
        p_boot = by_model[one.model]
        extra.append(
            (
                p,
                p is None or p >= alpha,
                *drawn.interval(one.model),
                *drawn.ranks(one.model),
                p_boot,
                p_boot is None or p_boot >= alpha,
            )
        )
    return replace(
        table,
        columns=(*table.columns, *COLUMNS),
        rows=tuple((*row, *more) for row, more in zip(table.rows, extra, strict=True)),
        notes=(
            *table.notes,
            f"Leads: no significant difference to the best model (alpha {alpha:g}).",
            f"Bootstrap over cases, or dialogues where a task has one case ({samples} samples).",
        ),
        queries=(*table.queries, "score-rows"),
        context={**table.context, "alpha": alpha, "samples": samples, "seed": seed},
    )


class _Resampled:
    """Combined scores of all models under resampling of cases, the same draws for every model."""

    def __init__(
        self,
        store: Store,
        selection: Selection,
        wanted: Iterable[Score],
        models: list[str],
        *,
        samples: int,
        seed: int,
    ) -> None:
        import numpy as np

        generator = np.random.default_rng(seed)
        self._place = {model: place for place, model in enumerate(models)}
        total = np.zeros((samples, len(models)))
        count = np.zeros((samples, len(models)))
        for _, cases in sorted(_values(store, selection, wanted).items(), key=str):
            sums, sizes = self._matrices(cases)
            weights = generator.multinomial(
                sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), size=samples
            )
            values, numbers = weights @ sums.T, weights @ sizes.T
            there = numbers > 0
            total[there] += values[there] / numbers[there]
            count[there] += 1
        with np.errstate(invalid="ignore"):
            self._scores = total / count

    def _matrices(self, cases: dict[tuple[str, int | None], dict[str, list[float]]]) -> Any:
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
        """The middle 95 % of the model's score; ``None`` where no sample has one."""
        import numpy as np

        scores = self._with(model)[:, self._place[model]]
        if not len(scores):
            return None, None
        low, high = np.quantile(scores, [0.025, 0.975])
        return float(low), float(high)

    def ranks(self, model: str) -> tuple[int | None, int | None]:
        """The middle 95 % of the model's rank; ``None`` where no sample has one."""
        import numpy as np

        scores = self._with(model)
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


def _values(
    store: Store, selection: Selection, wanted: Iterable[Score]
) -> dict[Score, dict[tuple[str, int | None], dict[str, list[float]]]]:
    """Values by score, unit of resampling (case, or dialogue where there is one case) and model."""
    chosen = set(wanted)
    found: dict[Score, dict[tuple[str, int | None], dict[str, list[float]]]] = {}
    for row in fetch.score_rows(store, selection, {score.metric for score in chosen}):
        of_row = (Score(row.task, row.metric, r) for r in (row.round, None))
        score = next((one for one in of_row if one in chosen), None)
        if score is not None:
            units = found.setdefault(score, defaultdict(lambda: defaultdict(list)))
            units[row.case, row.iteration][row.model].append(row.value)
    return {score: _by_case(units) for score, units in found.items()}


def _by_case(
    units: dict[tuple[str, int | None], dict[str, list[float]]],
) -> dict[tuple[str, int | None], dict[str, list[float]]]:
    if len({case for case, _ in units}) == 1:
        return units
    cases: dict[tuple[str, int | None], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for (case, _), by_model in units.items():
        for model, values in by_model.items():
            cases[case, None][model] += values
    return cases
