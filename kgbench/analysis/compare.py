# SPDX-License-Identifier: Apache-2.0
"""Comparison of two models, two runs or two evaluation passes, task by task.

Values are paired where both sides have the same case and iteration. Sides that share none are
compared unpaired, and the table says so. Intervals and tests generalise to an
:class:`~kgbench.analysis.estimands.Estimand`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from kgbench.analysis import scores as fetch
from kgbench.analysis.clusters import FEWEST_FOR_T, Clusters, UnpairedDifference
from kgbench.analysis.estimands import CASES, Estimand
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.inference import inference
from kgbench.analysis.intervals import (
    DIFFERENCE_NOTE,
    Bounds,
    difference_interval,
    score_interval,
)
from kgbench.analysis.matching import Match
from kgbench.analysis.registry import check_number
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.sides import Side
from kgbench.analysis.significance import (
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
from kgbench.analysis.tables import Column, Kind, Table, Value

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
QUERIES = (*fetch.CHOOSING, *fetch.ROWS)


def compare(
    matches: Mapping[str, Match],
    a: Side,
    b: Side,
    *,
    estimand: str = CASES,
    margin: float | None = None,
    solved: float = SOLVED,
    samples: int = 10_000,
    seed: int = 0,
) -> Table:
    """Compare two sides: one row per task and one over all tasks.

    Rows have means, difference, tests, effect size, and the numbers of pairs that only one side
    solved. ``estimand`` is that of intervals and tests, by default cases of this kind: see
    :mod:`kgbench.analysis.clusters`. A task that supports no such claim (one with a single case)
    has no test in its row; a further row is then about all tasks that do support one. With a
    ``margin`` the sides are tested for equivalence, too. P is corrected over the tasks by Holm and
    by Benjamini and Hochberg (BH).

    For the estimand ``dialogues`` the tests are the published ones: the t-test is paired or
    Student's with equal variances, and the bootstrap draws cases (dialogues where a task has a
    single case). The effect size is Cohen's dz or d. A dialogue counts as solved if its score is at
    least ``solved``, or at most, where less is better. Raises
    :class:`~kgbench.analysis.registry.OptionRefused` for a ``margin``, ``solved``, ``samples`` or
    ``seed`` that cannot be used.
    """
    if margin is not None:
        check_number("margin", margin, 0)
    check_number("solved", solved)
    check_number("samples", samples, 1, whole=True)
    check_number("seed", seed, 0, whole=True)
    inference_ = inference(estimand)
    target = inference_.estimand
    equal = target.clustered and margin is not None

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
    left_out, claimed = _left_out(all_tasks, target), supporting_matches(all_tasks, target)
    notes = [f"A is {a.kind} {a.name}, B is {b.kind} {b.name}.", inference_.note]
    if left_out:
        single = f"{target.fixed}s with one {target.sampled}"
        notes.append(
            f"Number of {single}: {len(left_out)}. They support no claim about {target.label}."
        )
    if left_out and claimed:
        rows.append(row_of(target.informative, claimed))
        notes[-1] += f" The row '{target.informative}' is about the others."
    notes += _notes(matches, target, margin)
    if any(row.get("no_claim") for row in rows):
        notes.append(
            "No claim: the reason why a row cannot tell A from B at p < 0.05, whatever its values."
        )
    tested = _CLUSTERED if target.clustered else _INDEPENDENT
    columns = (*_MEANS, *tested, *(_EQUIVALENT if equal else ()), *_EFFECTS)
    options: dict[str, Value] = (
        {"margin": margin} if target.clustered else {"samples": samples, "seed": seed}
    )
    return Table(
        title=f"{a.name} against {b.name}",
        columns=columns,
        rows=tuple(tuple(row.get(c.name) for c in columns) for row in rows),
        notes=tuple(notes),
        queries=QUERIES,
        context={"a": a.iri, "b": b.iri, **inference_.context, **options, "solved": solved},
    )


def _notes(matches: Mapping[str, Match], estimand: Estimand, margin: float | None) -> Iterator[str]:
    if margin is not None and estimand.clustered:
        yield (
            f"p (equal): two one-sided t-tests that A and B differ by less than {margin:g}; "
            f"they need at least {FEWEST_FOR_T} clusters."
        )
    if not estimand.clustered:
        yield DIFFERENCE_NOTE
    unpaired = [task for task, match in matches.items() if not match.paired]
    partly = sum(len(m.rest_a) + len(m.rest_b) for m in matches.values() if m.paired)
    if unpaired:
        yield f"Unpaired, because the sides share no case and iteration: {', '.join(unpaired)}."
    if unpaired and len(matches) > 1:
        without = "" if estimand.clustered else ", and has no test if these differ"
        yield (
            f"The row '{ALL_TASKS}' weighs each task the same in A and B, whatever the numbers of "
            f"dialogues{without}."
        )
    if partly:
        yield f"{partly} dialogues of paired tasks have no partner and are left out."


def _row(
    task: str, matches: list[Match], solved: float, tested: Mapping[str, Value]
) -> dict[str, Value]:
    paired = all(match.paired for match in matches)
    first, second = map(Histogram.of, _values(matches))
    pairs = [pair for match in matches for pair in match.pairs] if paired else []
    by_one = [of_a for match in matches for _, of_a in match.solved_by_one(solved)]
    mean_a, mean_b = _means(matches)
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
            cohens_dz(p.difference for p in pairs)
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


def _means(matches: list[Match]) -> tuple[float, float]:
    """Return the mean of each side, with :attr:`Match.weights`: tasks weigh the same in both."""
    a, b = (
        math.fsum(weight * row.value for weight, row in _weighted(matches, side))
        / math.fsum(weight for weight, _ in _weighted(matches, side))
        for side in (0, 1)
    )
    return a, b


def _weighted(matches: list[Match], side: int) -> Iterator[tuple[float, ScoreRow]]:
    """Yield the compared values of one side (A is 0), each with its weight."""
    for match in matches:
        weight = match.weights[side]
        yield from ((weight, row) for row in match.compared_rows()[side])


def _sides(matches: list[Match], estimand: Estimand) -> tuple[Clusters, ...]:
    """Return the clusters of the differences of pairs, or else those of each side.

    In the clusters of sides, tasks weigh the same on both.
    """
    if all(match.paired for match in matches):
        return (estimand.clusters((p.a, p.difference) for match in matches for p in match.pairs),)
    a, b = (
        Clusters.of(
            estimand.value(row, row.value)._replace(weight=weight)
            for weight, row in _weighted(matches, side)
        )
        for side in (0, 1)
    )
    return a, b


def supporting_matches(matches: list[Match], estimand: Estimand) -> list[Match]:
    """Return the tasks, or their parts, that support a claim about an estimand."""
    left_out = _left_out(matches, estimand)
    reduced = [
        (match.paired, match.without(lambda row: estimand.stratum(row) in left_out))
        for match in matches
    ]
    # A task that was paired is not compared without pairs, that is, on other cases.
    return [
        match
        for paired, match in reduced
        if (match.pairs if paired else match.rest_a and match.rest_b)
    ]


def _left_out(matches: list[Match], estimand: Estimand) -> frozenset[object]:
    """Return the names of the strata that support no claim."""
    if not estimand.clustered:
        return frozenset()
    return frozenset(name for side in _sides(matches, estimand) for name in side.left_out)


def cluster_test(
    matches: list[Match], estimand: Estimand, margin: float | None
) -> dict[str, Value]:
    """Test some tasks together by clusters; without a test where a part of them supports no claim.

    The cells are those of the columns ``clusters``, ``ci_low``, ``ci_high``, ``p``,
    ``p_equivalent`` and ``no_claim`` of :func:`compare`.
    """
    clusters = _sides(matches, estimand)
    bounds = Bounds.around(match.bounds for match in matches)
    test = clusters[0] if len(clusters) == 1 else UnpairedDifference(*clusters)
    claim = estimand.no_claim(test)
    if test.lone:
        return {"clusters": None, "p": None, "no_claim": claim}
    between = (
        test.difference_interval(bounds.differences)
        if isinstance(test, Clusters)
        else test.interval(bounds)
    )
    return {
        "clusters": test.number,
        "ci_low": None if between is None else between.low,
        "ci_high": None if between is None else between.high,
        "p": test.p,
        "p_equivalent": None if margin is None else test.p_equivalent(margin),
        "no_claim": claim,
    }


def _independent(matches: list[Match], samples: int, seed: int) -> dict[str, Value]:
    """Run the published tests, which treat all dialogues as independent.

    There is none where the sides have different numbers of dialogues of several tasks, because the
    difference of such dialogues is also one between tasks.
    """
    if len(matches) > 1 and any(match.weights != (1.0, 1.0) for match in matches):
        return {}
    bounds = Bounds.around(match.bounds for match in matches)
    if all(match.paired for match in matches):
        pairs = [pair for match in matches for pair in match.pairs]
        differences = [pair.difference for pair in pairs]
        test = paired_test(differences)
        between = score_interval(Histogram.of(differences), bounds.differences)
        resampled = bootstrap_means(
            _units([(p.a, p.difference) for p in pairs]), samples=samples, seed=seed
        )
    else:
        values_a, values_b = (Histogram.of(values) for values in _values(matches))
        test = t_test(values_a, values_b)
        between = difference_interval(values_a, values_b, bounds)
        resampled = [
            x - y
            for x, y in zip(
                *(
                    bootstrap_means(
                        _units(
                            [(i, i.value) for match in matches for i in match.compared_rows()[side]]
                        ),
                        samples=samples,
                        seed=seed + side,
                    )
                    for side in (0, 1)
                ),
                strict=True,
            )
        ]
    interval = percentile_interval(resampled)
    return {
        "ci_low": None if between is None else between.low,
        "ci_high": None if between is None else between.high,
        "p": None if test is None else test.p,
        "boot_low": None if interval is None else interval.low,
        "boot_high": None if interval is None else interval.high,
        "p_boot": bootstrap_p(resampled),
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


def flips(matches: Mapping[str, Match], a: Side, b: Side, *, solved: float = SOLVED) -> Table:
    """List the pairs that only one side solved, with both dialogues.

    Raises :class:`~kgbench.analysis.registry.OptionRefused` if ``solved`` is not a finite number.
    """
    check_number("solved", solved)
    rows = [
        (
            task,
            pair.a.case,
            pair.a.iteration,
            pair.a.value,
            pair.b.value,
            pair.a.dialogue,
            pair.b.dialogue,
        )
        for task, match in matches.items()
        for pair, _ in match.solved_by_one(solved)
    ]
    less = any(not match.higher_is_better for match in matches.values())
    at_most = ", or at most, where less is better" if less else ""
    return Table(
        title=f"Solved by only one of {a.name} (A) and {b.name} (B)",
        columns=FLIP_COLUMNS,
        rows=tuple(rows),
        notes=(f"Solved is a score of at least {solved:g}{at_most}.",),
        queries=QUERIES,
        context={"a": a.iri, "b": b.iri, "solved": solved},
    )
