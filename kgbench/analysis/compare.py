# SPDX-License-Identifier: Apache-2.0
"""Two models, two runs or two evaluation passes, compared task by task.

Values are paired where both sides have the same case and iteration; where they share none, the
sides are compared unpaired, and the table says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import chosen_metrics
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import Selection
from kgbench.analysis.sides import Side, items
from kgbench.analysis.significance import (
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
from kgbench.errors import QueryError
from kgbench.store.protocol import Store

ALL_TASKS = "All tasks"
SOLVED = 0.5
COLUMNS = (
    Column("task", "Task"),
    Column("pairing", "Pairing"),
    Column("n_a", "n A", Kind.COUNT),
    Column("n_b", "n B", Kind.COUNT),
    Column("mean_a", "Mean A", Kind.SCORE),
    Column("mean_b", "Mean B", Kind.SCORE),
    Column("difference", "A - B", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("p_holm", "p (Holm)", Kind.P),
    Column("boot_low", "Bootstrap from", Kind.SCORE),
    Column("boot_high", "to", Kind.SCORE),
    Column("p_boot", "p (bootstrap)", Kind.P),
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


class Pair(NamedTuple):
    """What the two sides reached on the same case in the same iteration."""

    a: ScoreRow
    b: ScoreRow

    @property
    def difference(self) -> float:
        """A less B."""
        return self.a.value - self.b.value


@dataclass(frozen=True, slots=True)
class Match:
    """One task: the pairs, and what either side has beside them."""

    pairs: tuple[Pair, ...]
    rest_a: tuple[ScoreRow, ...]
    rest_b: tuple[ScoreRow, ...]

    @property
    def paired(self) -> bool:
        """Whether there is anything to pair."""
        return bool(self.pairs)

    def used(self) -> tuple[list[ScoreRow], list[ScoreRow]]:
        """The values of both sides that are compared: the pairs, or else everything."""
        if self.paired:
            return [p.a for p in self.pairs], [p.b for p in self.pairs]
        return list(self.rest_a), list(self.rest_b)


def matches(
    store: Store,
    selection: Selection,
    a: Side,
    b: Side,
    *,
    metric: str | None = None,
    tasks: str = "*",
) -> dict[str, Match]:
    """The values of both sides, matched, by the name of the task.

    Raises :class:`~kgbench.errors.QueryError` where the sides share no task.
    """
    chosen = chosen_metrics(store, tasks, metric)
    names = {task.iri: task.name for task in fetch.tasks(store).values()}
    ours = items(store, selection, a, chosen)
    theirs = items(store, selection, b, chosen)
    both = sorted({i.task for i in ours} & {i.task for i in theirs}, key=lambda t: names[t])
    if not both:
        raise QueryError(f"'{a.name}' and '{b.name}' have no task in common")
    by_model = a.kind != "model" and bool({i.model for i in ours} & {i.model for i in theirs})

    def key(item: ScoreRow) -> tuple[object, ...]:
        if a.kind == "pass" and by_model:
            return (item.dialogue,)
        return (item.model if by_model else None, item.case, item.iteration)

    return {
        names[task]: _match(
            _by_key((i for i in ours if i.task == task), key),
            _by_key((i for i in theirs if i.task == task), key),
        )
        for task in both
    }


def _by_key(
    found: Iterable[ScoreRow], key: Callable[[ScoreRow], tuple[object, ...]]
) -> dict[tuple[object, ...], list[ScoreRow]]:
    by_key: dict[tuple[object, ...], list[ScoreRow]] = defaultdict(list)
    for item in sorted(found, key=lambda i: i.dialogue):
        by_key[key(item)].append(item)
    return by_key


def _match(
    ours: Mapping[tuple[object, ...], Sequence[ScoreRow]],
    theirs: Mapping[tuple[object, ...], Sequence[ScoreRow]],
) -> Match:
    pairs: list[Pair] = []
    rest_a: list[ScoreRow] = []
    rest_b: list[ScoreRow] = []
    for key in sorted({*ours, *theirs}, key=str):
        for a, b in zip_longest(ours.get(key, ()), theirs.get(key, ())):
            if a is not None and b is not None:
                pairs.append(Pair(a, b))
            elif a is not None:
                rest_a.append(a)
            else:
                rest_b.append(b)
    return Match(tuple(pairs), tuple(rest_a), tuple(rest_b))


def compare(
    found: Mapping[str, Match],
    a: Side,
    b: Side,
    *,
    solved: float = SOLVED,
    samples: int = 10_000,
    seed: int = 0,
) -> Table:
    """One row per task and one over all: difference, tests, effect, and what only one side solved.

    The t-test is paired or Student's with equal variances, the effect Cohen's dz or d; the
    bootstrap draws cases (dialogues where a task has a single case). A dialogue is solved from the
    score ``solved`` on. Holm's correction is over the tasks.
    """
    rows = [_row(task, [match], solved, samples, seed) for task, match in found.items()]
    corrected = holm([row["p"] if isinstance(row["p"], float) else None for row in rows])
    for row, p in zip(rows, corrected, strict=True):
        row["p_holm"] = p
    if len(found) > 1:
        rows.append(_row(ALL_TASKS, list(found.values()), solved, samples, seed))
    unpaired = [task for task, match in found.items() if not match.paired]
    partly = sum(len(m.rest_a) + len(m.rest_b) for m in found.values() if m.paired)
    notes = [f"A is {a.kind} {a.name}, B is {b.kind} {b.name}."]
    if unpaired:
        notes.append(
            f"Unpaired, because the sides share no case and iteration: {', '.join(unpaired)}."
        )
    if partly:
        notes.append(f"{partly} dialogues of paired tasks have no partner and are left out.")
    return Table(
        title=f"{a.name} against {b.name}",
        columns=COLUMNS,
        rows=tuple(tuple(row.get(c.name) for c in COLUMNS) for row in rows),
        notes=tuple(notes),
        queries=QUERIES,
        context={"a": a.iri, "b": b.iri, "samples": samples, "seed": seed, "solved": solved},
    )


def _row(task: str, found: list[Match], solved: float, samples: int, seed: int) -> dict[str, Value]:
    paired = all(match.paired for match in found)
    ours = [item for match in found for item in match.used()[0]]
    theirs = [item for match in found for item in match.used()[1]]
    first = Histogram.of(i.value for i in ours)
    second = Histogram.of(i.value for i in theirs)
    pairs = [pair for match in found for pair in match.pairs] if paired else []
    if paired:
        differences = [pair.difference for pair in pairs]
        test = paired_test(differences)
        effect = cohens_dz(differences)
        drawn = bootstrap_means(
            _units([(p.a, p.difference) for p in pairs]), samples=samples, seed=seed
        )
    else:
        test = t_test(first, second)
        effect = cohens_d(first, second)
        drawn_a = bootstrap_means(_units([(i, i.value) for i in ours]), samples=samples, seed=seed)
        drawn_b = bootstrap_means(
            _units([(i, i.value) for i in theirs]), samples=samples, seed=seed + 1
        )
        drawn = [x - y for x, y in zip(drawn_a, drawn_b, strict=True)]
    interval = percentile_interval(drawn)
    known = first.mean is not None and second.mean is not None
    return {
        "task": task,
        "pairing": "paired" if paired else "unpaired",
        "n_a": first.n,
        "n_b": second.n,
        "mean_a": first.mean,
        "mean_b": second.mean,
        "difference": (first.mean or 0.0) - (second.mean or 0.0) if known else None,
        "ci_low": None if test is None else test.interval.low,
        "ci_high": None if test is None else test.interval.high,
        "p": None if test is None else test.p,
        "boot_low": None if interval is None else interval.low,
        "boot_high": None if interval is None else interval.high,
        "p_boot": bootstrap_p(drawn),
        "effect": effect,
        "only_a": sum(p.a.value >= solved > p.b.value for p in pairs) if paired else None,
        "only_b": sum(p.b.value >= solved > p.a.value for p in pairs) if paired else None,
    }


def _units(values: list[tuple[ScoreRow, float]]) -> list[list[float]]:
    """Values grouped by case, within each task; single values where a task has only one case."""
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


def flips(found: Mapping[str, Match], a: Side, b: Side, *, solved: float = SOLVED) -> Table:
    """The pairs that only one side solved, with both dialogues."""
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
        for task, match in found.items()
        for pair in match.pairs
        if (pair.a.value >= solved) != (pair.b.value >= solved)
    ]
    return Table(
        title=f"Solved by only one of {a.name} (A) and {b.name} (B)",
        columns=FLIP_COLUMNS,
        rows=tuple(rows),
        notes=(f"Solved is a score of at least {solved:g}.",),
        queries=QUERIES,
        context={"a": a.iri, "b": b.iri, "solved": solved},
    )
