# SPDX-License-Identifier: Apache-2.0
"""Tests of every two models, with all dialogues as independent and for an estimand.

The comparison shows how many verdicts are wrong if repetitions of a case are treated as cases.

The difference weighs tasks and cases as :func:`~kgbench.analysis.compare.compare` does; ``n`` is
the number of pairs of dialogues. ``p_independent`` is that of the paired t-test of these; ``p`` and
the interval of the difference are for the estimand. Both are uncorrected, because the rows show
the effect of the method alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Annotated, NamedTuple

from kgbench.analysis.compare import cluster_test, means, pair_clusters
from kgbench.analysis.matching import Match, TaskValues, shared_tasks
from kgbench.analysis.registry import EstimandName, Metric, Option, Purpose, Round, analysis
from kgbench.errors import QueryError
from kgbench.scores import catalogue
from kgbench.scores.inference import (
    AVAILABLE,
    DIALOGUES,
    Estimand,
    check_estimand,
    find_estimand,
    inference,
)
from kgbench.scores.reading import CHOOSING, ROWS, ScoreRow
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_rows, chosen_scores
from kgbench.statistics.significance import paired_test
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

COLUMNS = (
    Column("a", "A"),
    Column("b", "B"),
    Column("n", "n", Kind.COUNT),
    Column("difference", "A - B", Kind.SCORE),
    Column("p_independent", "p (independent)", Kind.P),
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("verdict", "Verdict"),
    Column("tasks_independent", "Tasks that differ (independent)", Kind.COUNT),
    Column("tasks_still", "Of these still", Kind.COUNT),
    Column("tasks_new", "Tasks that newly differ", Kind.COUNT),
)
QUERIES = (*CHOOSING, *ROWS)


class Verdict(StrEnum):
    """The effect of treating cases as clusters on the verdict about a difference."""

    STILL = "still differ"
    NO_LONGER = "no longer differ"
    NEW = "newly differ"
    NEVER = "not told apart"

    @classmethod
    def of(cls, before: float | None, after: float | None, alpha: float) -> Verdict:
        """Compare both p values with a level; ``None`` counts as no difference."""
        differed, differs = (p is not None and p < alpha for p in (before, after))
        if differed:
            return cls.STILL if differs else cls.NO_LONGER
        return cls.NEW if differs else cls.NEVER


class _Task(NamedTuple):
    """The verdict on a task, the reason for a missing claim, and p of the t-test in any case."""

    verdict: Verdict
    no_claim: str | None
    p_of_t: float | None


@analysis("pairs", Purpose.COMPARE)
def pairs(
    store: Store,
    selection: Selection,
    *,
    metric: Metric = None,
    round: Round = None,
    estimand: EstimandName = AVAILABLE,
    alpha: Annotated[
        float,
        Option("Two models differ if the uncorrected p is below.", min=0, max=1, panel="Tests"),
    ] = 0.05,
) -> Table:
    """Compare every two models with independent dialogues and with cases as clusters.

    >>> results = kgbench.open("kgbench-results")
    >>> results.pairs().column("verdict")
    ['still differ']
    """
    target = find_estimand(check_estimand(estimand))
    if not target.clustered:
        raise QueryError(f"'{estimand}' is the baseline of this comparison: name another estimand")
    chosen = chosen_scores(store, selection.tasks, metric, round)
    models, metrics = catalogue.models(store), catalogue.metrics(store)
    bounds = {task: metrics[score.metric].bounds for task, score in chosen.items()}
    of_model: dict[str, list[ScoreRow]] = defaultdict(list)
    for row in chosen_rows(store, selection, chosen):
        of_model[row.model].append(row)
    rows: list[dict[str, Value]] = []
    tasks: list[_Task] = []
    cases: set[int] = set()
    for a, b in combinations(sorted(of_model, key=models.name), 2):
        shared = [
            TaskValues(*of_both, bounds[task])
            for task, of_both in shared_tasks(of_model[a], of_model[b]).items()
        ]
        matched = [
            (of_task, match) for of_task in shared if (match := of_task.match(target)).paired
        ]
        if matched:
            cases |= {match.numbers_of_cases[0] for _, match in matched}
            cells, on_tasks = _compared(matched, target, alpha)
            rows.append({"a": models.name(a), "b": models.name(b), **cells})
            tasks += on_tasks
    if not rows:
        raise QueryError("no two models share a case: run a second one with the same tasks")
    inference_ = inference(target.of_tasks(cases).name, alpha=alpha)
    verdicts = [Verdict(str(row["verdict"])) for row in rows]
    return Table.of(
        f"Pairs of models ({selection.suite_name})",
        COLUMNS,
        rows,
        notes=(
            "p (independent): paired t-test that takes every dialogue for independent.",
            inference_.note,
            *_notes(verdicts, tasks, alpha),
        ),
        queries=QUERIES,
        context={
            **selection.context,
            "metric": metric or "main",
            "round": round,
            **inference_.context,
            **_counts("pairs", verdicts),
            **_counts("tasks", [task.verdict for task in tasks]),
            # Of the verdicts that clusters lose, those that the t-test loses where it is defined.
            "tasks_lost_by_t": sum(
                task.verdict is Verdict.NO_LONGER and (task.p_of_t or 0.0) >= alpha
                for task in tasks
            ),
        },
    )


def _compared(
    matched: Sequence[tuple[TaskValues, Match]], estimand: Estimand, alpha: float
) -> tuple[dict[str, Value], list[_Task]]:
    """Return the cells about all tasks together, and the verdict on each."""
    singly = [of_task.match(find_estimand(DIALOGUES)) for of_task, _ in matched]
    matches = [match for _, match in matched]
    tasks = []
    for match, of_dialogues in zip(matches, singly, strict=True):
        clusters = pair_clusters([match], estimand)
        reason = estimand.no_claim(clusters, alpha)
        after = clusters.p if reason is None else None
        verdict = Verdict.of(_independent([of_dialogues]), after, alpha)
        tasks.append(_Task(verdict, reason, clusters.p_of_t))
    counted = Counter(task.verdict for task in tasks)
    mean_a, mean_b = means(matches)
    claim = cluster_test(matches, estimand, None)
    before = _independent(singly)
    clustered = p if isinstance(p := claim["p"], float) else None
    return {
        **claim,
        "n": sum(len(match.pairs) for match in singly),
        "difference": mean_a - mean_b,
        "p_independent": before,
        "verdict": str(Verdict.of(before, clustered, alpha)),
        "tasks_independent": counted[Verdict.STILL] + counted[Verdict.NO_LONGER],
        "tasks_still": counted[Verdict.STILL],
        "tasks_new": counted[Verdict.NEW],
    }, tasks


def _independent(matches: Sequence[Match]) -> float | None:
    test = paired_test(difference for match in matches for difference in match.differences)
    return None if test is None else test.p


def _counts(prefix: str, verdicts: list[Verdict]) -> dict[str, Value]:
    """Count all verdicts and each kind of verdict, for the table's context."""
    counted = Counter(verdicts)
    counts: dict[str, Value] = {prefix: len(verdicts)}
    for verdict in (Verdict.STILL, Verdict.NO_LONGER, Verdict.NEW):
        counts[f"{prefix}_{verdict.name.lower()}"] = counted[verdict]
    return counts


def _notes(verdicts: list[Verdict], tasks: list[_Task], alpha: float) -> Iterator[str]:
    yield _changed("pairs of models", verdicts, alpha)
    yield _changed("pairs of models on one task", [task.verdict for task in tasks], alpha)
    lost = [task for task in tasks if task.verdict is Verdict.NO_LONGER]
    reasons = Counter(task.no_claim for task in lost if task.no_claim is not None)
    if reasons:
        texts = "; ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items()))
        yield f"No claim about these: {texts}."


def _changed(things: str, verdicts: list[Verdict], alpha: float) -> str:
    counted = Counter(verdicts)
    differed = counted[Verdict.STILL] + counted[Verdict.NO_LONGER]
    return (
        f"Of {len(verdicts)} {things}, {differed} differ with independent dialogues "
        f"(p < {alpha:g}); with clusters, {counted[Verdict.NO_LONGER]} of these do not, and "
        f"{counted[Verdict.NEW]} others do."
    )
