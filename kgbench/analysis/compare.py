# SPDX-License-Identifier: Apache-2.0
"""Comparison of two models, two runs or two evaluation passes, task by task.

The means of both sides on the same case are paired, or the answers of the same iteration where
repetitions or dialogues are the estimand. Sides that share no case are compared unpaired, and the
table says so. Intervals and tests generalise to an :class:`~kgbench.scores.inference.Estimand`.
Tasks weigh the same, as in the leaderboard.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from kgbench.analysis.matching import Match, Side, TaskValues
from kgbench.analysis.registry import OptionRefused, check_number
from kgbench.scores.inference import AVAILABLE, Estimand, check_estimand, find_estimand, inference
from kgbench.scores.reading import CHOOSING, ROWS, ScoreRow
from kgbench.statistics.clusters import FEWEST_FOR_T, Clusters
from kgbench.statistics.clusters import Value as ClusteredValue
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import (
    DIFFERENCE_NOTE,
    Bounds,
    difference_interval,
    score_interval,
)
from kgbench.statistics.significance import (
    benjamini_hochberg,
    bootstrap_means,
    bootstrap_p,
    cohens_d,
    cohens_dz,
    holm,
    paired_test,
    percentile_interval,
    t_test,
)
from kgbench.statistics.unpaired_difference import UnpairedDifference
from kgbench.tables import Column, Kind, Table, Value

ALL_TASKS = "All tasks"
SOLVED = 0.5
_MEANS = (
    Column("task", "Task"),
    Column("pairing", "Pairing"),
    Column("n_a", "n A", Kind.COUNT),
    Column("n_b", "n B", Kind.COUNT),
    Column("mean_a", "Mean A", Kind.SCORE),
    Column("mean_b", "Mean B", Kind.SCORE),
    Column("difference", "A - B", Kind.SCORE),
)
_TESTS = (
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("p_holm", "p (Holm)", Kind.P),
)
_CLUSTERED = (
    Column("clusters", "Clusters", Kind.COUNT),
    *_TESTS,
    Column("p_bh", "p (BH)", Kind.P),
    Column("no_claim", "No claim"),
)
_EQUIVALENT = (Column("p_equivalent", "p (equal)", Kind.P),)
_INDEPENDENT = (
    *_TESTS,
    Column("boot_low", "Bootstrap from", Kind.SCORE),
    Column("boot_high", "to", Kind.SCORE),
    Column("p_boot", "p (bootstrap)", Kind.P),
    Column("no_claim", "No claim"),
)
_EFFECTS = (
    Column("effect", "Effect", Kind.SCORE),
    Column("only_a", "Only A solved", Kind.COUNT),
    Column("only_b", "Only B solved", Kind.COUNT),
)
FLIP_COLUMNS = (
    Column("task", "Task"),
    Column("case", "Case"),
    Column("iteration", "Iteration", Kind.COUNT),
    Column("a", "A", Kind.SCORE),
    Column("b", "B", Kind.SCORE),
    Column("dialogue_a", "Dialogue A"),
    Column("dialogue_b", "Dialogue B"),
)
QUERIES = (*CHOOSING, *ROWS)


def compare(
    values: Mapping[str, TaskValues],
    a: Side,
    b: Side,
    *,
    estimand: str = AVAILABLE,
    margin: float | None = None,
    solved: float = SOLVED,
    samples: int = 10_000,
    seed: int = 0,
) -> Table:
    """Compare two sides: one row per task and one over all tasks.

    Rows have means, difference, tests, effect size, and the numbers of pairs that only one side
    solved. ``estimand`` is that of intervals and tests, by default cases of this kind, or the
    answers to the case of a task with one case: see :mod:`kgbench.statistics.clusters`. Where a row
    supports no claim, ``no_claim`` has the reason. With a ``margin`` the sides are tested for
    equivalence, too. P is corrected over the tasks by Holm and by Benjamini and Hochberg (BH).

    For the estimand ``dialogues`` the tests are the published ones: the t-test is paired or
    Student's with equal variances, and the bootstrap draws cases (dialogues where a task has a
    single case). The effect size is Cohen's dz or d. A pair counts as solved by a side if its mean
    is at least ``solved``, or at most, where less is better. Raises
    :class:`~kgbench.analysis.registry.OptionRefused` for a ``margin``, ``solved``, ``samples`` or
    ``seed`` that cannot be used.
    """
    if margin is not None:
        check_number("margin", margin, 0)
    check_number("solved", solved)
    check_number("samples", samples, 1, whole=True)
    check_number("seed", seed, 0, whole=True)
    requested = find_estimand(check_estimand(estimand))
    matches = {task: of_task.match(requested) for task, of_task in values.items()}
    target = requested.of_tasks(n for match in matches.values() for n in match.numbers_of_cases)
    inference_ = inference(target.name)
    equal = margin is not None
    if equal and not target.clustered:
        raise OptionRefused("margin", "the tests of dialogues as if independent have no margin")

    def row_of(name: str, several: list[Match]) -> dict[str, Value]:
        if target.clustered:
            return _row(name, several, solved, cluster_test(several, target, margin))
        return _row(name, several, solved, _independent(several, samples, seed))

    rows = [row_of(task, [match]) for task, match in matches.items()]
    ps = [row["p"] if isinstance(row["p"], float) else None for row in rows]
    for row, holms, hochbergs in zip(rows, holm(ps), benjamini_hochberg(ps), strict=True):
        row["p_holm"], row["p_bh"] = holms, hochbergs
    all_tasks = list(matches.values())
    if len(matches) > 1:
        rows.append(row_of(ALL_TASKS, all_tasks))
    notes = [f"A is {a.kind} {a.name}, B is {b.kind} {b.name}.", inference_.note]
    notes += _notes(matches, target, margin)
    if any(row.get("no_claim") for row in rows):
        notes.append("No claim: why a row cannot show a difference at p < 0.05.")
    tested = _CLUSTERED if target.clustered else _INDEPENDENT
    columns = (*_MEANS, *tested, *(_EQUIVALENT if equal else ()), *_EFFECTS)
    options: dict[str, Value] = (
        {"margin": margin} if target.clustered else {"samples": samples, "seed": seed}
    )
    return Table.of(
        f"{a.shown} against {b.shown}",
        columns,
        rows,
        notes=tuple(notes),
        queries=QUERIES,
        context={"a": a.iri, "b": b.iri, **inference_.context, **options, "solved": solved},
    )


def _notes(matches: Mapping[str, Match], estimand: Estimand, margin: float | None) -> Iterator[str]:
    if margin is not None:
        yield (
            f"p (equal) tests whether A and B differ by less than {margin:g}, from "
            f"{FEWEST_FOR_T} clusters on."
        )
    if not estimand.clustered:
        yield DIFFERENCE_NOTE
    unpaired = [task for task, match in matches.items() if not match.paired]
    partly = sum(len(m.rest_a) + len(m.rest_b) for m in matches.values() if m.paired)
    if unpaired:
        yield f"A and B share no case of {', '.join(unpaired)}."
    unlike = [task for task, match in matches.items() if not match.alike]
    if unlike:
        yield (
            f"Each case counts once, unlike in the leaderboard, because A and B have unequal "
            f"numbers of answers: {', '.join(unlike)}."
        )
    if partly:
        things = "1 dialogue" if partly == 1 else f"{partly} dialogues"
        yield f"The comparison leaves out {things} without a partner."


def _row(
    task: str, matches: list[Match], solved: float, tested: Mapping[str, Value]
) -> dict[str, Value]:
    paired = all(match.paired for match in matches)
    first, second = map(Histogram.of, _values(matches))
    by_one = [of_a for match in matches for _, of_a in match.solved_by_one(solved)]
    mean_a, mean_b = means(matches)
    return {
        "task": task,
        "pairing": "paired" if paired else "unpaired",
        "n_a": first.n,
        "n_b": second.n,
        "mean_a": mean_a,
        "mean_b": mean_b,
        "difference": mean_a - mean_b,
        **tested,
        "effect": (
            cohens_dz(*(Histogram.of(match.differences) for match in matches))
            if paired
            else cohens_d(first, second, mean_a - mean_b)
        ),
        "only_a": by_one.count(True) if paired else None,
        "only_b": by_one.count(False) if paired else None,
    }


def _values(matches: list[Match]) -> tuple[list[float], list[float]]:
    compared = [match.compared_rows() for match in matches]
    values_a = [row.value for rows_a, _ in compared for row in rows_a]
    values_b = [row.value for _, rows_b in compared for row in rows_b]
    return values_a, values_b


def means(matches: Sequence[Match]) -> tuple[float, float]:
    """Return the mean of each side, in which tasks weigh the same."""
    a, b = zip(*(match.means for match in matches), strict=True)
    return math.fsum(a) / len(a), math.fsum(b) / len(b)


def _sides(matches: list[Match], estimand: Estimand) -> tuple[Clusters, ...]:
    """Return the clusters of the differences of pairs, or else those of each side.

    All tasks weigh the same.
    """
    if all(match.paired for match in matches):
        return (pair_clusters(matches, estimand),)
    sides: list[list[ClusteredValue]] = [[], []]
    for match in matches:
        for side, rows in zip(sides, match.compared_rows(), strict=True):
            in_task = estimand.within(len({row.case for row in rows}))
            side.extend(in_task.value(row, row.value, 1 / len(rows)) for row in rows)
    a, b = map(Clusters.of, sides)
    return a, b


def pair_clusters(matches: list[Match], estimand: Estimand) -> Clusters:
    """Return the clusters of the differences of pairs.

    Answers to the only case of a task are not paired: those of A have half of the weight of the
    task and are doubled, as are those of B with the opposite sign. The sum of these two strata is
    the difference of the means. Values count from the middle of the range, so that the doubled
    values stay inside the range of differences.
    """
    values: list[ClusteredValue] = []
    opposite: dict[Hashable, Hashable] = {}
    for match in matches:
        in_task = estimand.within(*match.numbers_of_cases)
        weighted = list(zip(match.pairs, match.weights, strict=True))
        if in_task is estimand or in_task.pairs_cases or match.same_answers:
            values += (in_task.value(p.a[0], p.difference, weight) for p, weight in weighted)
            continue
        low, high = match.bounds
        middle = 0.0 if low is None or high is None else (low + high) / 2
        for number, (pair, weight) in enumerate(weighted):
            strata = [(pair.a[0].task, number, side) for side in ("a", "b")]
            opposite[strata[0]] = strata[1]
            for stratum, rows, doubled in zip(strata, pair, (2, -2), strict=True):
                share = weight / 2 / len(rows)
                values += (
                    ClusteredValue(
                        stratum, (stratum, row.dialogue), doubled * (row.value - middle), share
                    )
                    for row in rows
                )
    return Clusters.of(values, opposite)


def cluster_test(
    matches: list[Match], estimand: Estimand, margin: float | None
) -> dict[str, Value]:
    """Test some tasks together by clusters; without a test where one of them supports no claim.

    The cells are those of the columns ``clusters``, ``ci_low``, ``ci_high``, ``p``,
    ``p_equivalent`` and ``no_claim`` of :func:`compare`.
    """
    clusters = _sides(matches, estimand)
    bounds = Bounds.around(match.bounds for match in matches)
    test = clusters[0] if len(clusters) == 1 else UnpairedDifference(*clusters)
    if test.lone:
        return {"clusters": None, "p": None, "no_claim": estimand.no_claim(test)}
    between = test.difference_interval(bounds)
    return {
        "clusters": test.number,
        "ci_low": None if between is None else between.low,
        "ci_high": None if between is None else between.high,
        "p": test.p,
        "p_equivalent": None if margin is None else test.p_equivalent(margin),
        "no_claim": estimand.no_claim(test),
    }


def _independent(matches: list[Match], samples: int, seed: int) -> dict[str, Value]:
    """Run the published tests, which treat all dialogues as independent.

    There is none where tasks have different numbers of dialogues: these tests would weigh tasks by
    their dialogues, and the row weighs all tasks the same.
    """
    if len({tuple(map(len, match.compared_rows())) for match in matches}) > 1:
        return {"p": None, "no_claim": "the tasks have different numbers of dialogues"}
    bounds = Bounds.around(match.bounds for match in matches)
    mean_a, mean_b = means(matches)
    if all(match.paired for match in matches):
        differences = [difference for match in matches for difference in match.differences]
        test = paired_test(differences)
        between = score_interval(Histogram.of(differences), bounds.differences)
        of_pairs = [(p.a[0], p.difference) for match in matches for p in match.pairs]
        resampled = bootstrap_means(_units(of_pairs), samples=samples, seed=seed)
    else:
        values_a, values_b = (Histogram.of(values) for values in _values(matches))
        test = t_test(values_a, values_b)
        between = difference_interval(values_a, values_b, bounds)
        sides = zip(*(match.compared_rows() for match in matches), strict=True)
        drawn = (
            bootstrap_means(
                _units([(row, row.value) for rows in side for row in rows]),
                samples=samples,
                seed=seed + number,
            )
            for number, side in enumerate(sides)
        )
        resampled = [a - b for a, b in zip(*drawn, strict=True)]
    interval = percentile_interval(resampled, mean_a - mean_b)
    return {
        "ci_low": None if between is None else between.low,
        "ci_high": None if between is None else between.high,
        "p": None if test is None else test.p,
        "boot_low": None if interval is None else interval.low,
        "boot_high": None if interval is None else interval.high,
        "p_boot": bootstrap_p(resampled),
        "no_claim": "no score varies" if test is None else None,
    }


def _units(values: list[tuple[ScoreRow, float]]) -> list[list[float]]:
    """Group values by case within each task; a task with only one case gives single values."""
    by_task: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item, value in values:
        by_task[item.task][item.case].append(value)
    units: list[list[float]] = []
    for cases in by_task.values():
        if len(cases) > 1:
            units += cases.values()
        else:
            units += [[value] for group in cases.values() for value in group]
    return units


def flips(
    values: Mapping[str, TaskValues],
    a: Side,
    b: Side,
    *,
    estimand: str = AVAILABLE,
    solved: float = SOLVED,
) -> Table:
    """List the pairs that only one side solved, with the first dialogue of each side.

    Pairs are those of :func:`compare`; ``iteration`` is empty for several answers. Raises
    :class:`~kgbench.analysis.registry.OptionRefused` if ``solved`` is not a finite number.
    """
    check_number("solved", solved)
    target = find_estimand(check_estimand(estimand))
    matches = {task: of_task.match(target) for task, of_task in values.items()}
    rows = [
        (
            task,
            pair.a[0].case,
            pair.a[0].iteration if len(pair.a) == len(pair.b) == 1 else None,
            *pair.means,
            pair.a[0].dialogue,
            pair.b[0].dialogue,
        )
        for task, match in matches.items()
        for pair, _ in match.solved_by_one(solved)
    ]
    higher = all(match.higher_is_better for match in matches.values())
    at_most = "" if higher else ", or at most, where less is better"
    return Table(
        title=f"Solved by only one of {a.shown} (A) and {b.shown} (B)",
        columns=FLIP_COLUMNS,
        rows=tuple(rows),
        notes=(f"Solved is a score of at least {solved:g}{at_most}.",),
        queries=QUERIES,
        context={"a": a.iri, "b": b.iri, "solved": solved},
    )
