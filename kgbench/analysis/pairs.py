# SPDX-License-Identifier: Apache-2.0
"""Every two models side by side: by dialogues taken for independent, and by an estimand.

It shows how many verdicts a table changes that takes repetitions of a case for cases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import chosen_rows, chosen_scores
from kgbench.analysis.clusters import FEWEST_FOR_T
from kgbench.analysis.compare import clustered, informative
from kgbench.analysis.estimands import CASES, Estimand
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.inference import inference
from kgbench.analysis.matching import Match, matched
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import paired_test
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.store.protocol import Store

COLUMNS = (
    Column("a", "A"),
    Column("b", "B"),
    Column("n", "n", Kind.COUNT),
    Column("difference", "A - B", Kind.SCORE),
    Column("p_independent", "p (independent)", Kind.P),
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_score", "A - B of claim", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("verdict", "Verdict"),
    Column("tasks_independent", "Tasks that differ (independent)", Kind.COUNT),
    Column("tasks_still", "Of these still", Kind.COUNT),
    Column("tasks_new", "Tasks that newly differ", Kind.COUNT),
)
QUERIES = (*fetch.CHOOSING, *fetch.ROWS)


class Verdict(StrEnum):
    """What becomes of a difference when cases are clusters."""

    STILL = "still differ"
    NO_LONGER = "no longer differ"
    NEW = "newly differ"
    NEVER = "not told apart"

    @classmethod
    def of(cls, before: float | None, after: float | None, alpha: float) -> Verdict:
        """The verdict on both p values at a level; ``None`` is no difference."""
        was, found = (p is not None and p < alpha for p in (before, after))
        if was:
            return cls.STILL if found else cls.NO_LONGER
        return cls.NEW if found else cls.NEVER


class _Task(NamedTuple):
    """The verdict on a task, why nothing could be claimed of it, and p by t all the same."""

    verdict: Verdict
    no_claim: str | None
    p_of_t: float | None


def pairs(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    answers: str | None = None,
    about: str = CASES,
    alpha: float = 0.05,
) -> Table:
    """One row per two models that share cases: p over all tasks, and verdicts on single tasks.

    ``p_independent`` is that of the paired t-test that takes dialogues for independent; ``p`` and
    the interval are about the estimand ``about``, over what supports a claim (``ci_score`` is the
    difference there). A verdict is p below ``alpha``, uncorrected, because the rows show what the
    method alone changes. ``metric`` and ``answers`` are as in
    :func:`~kgbench.analysis.task_scores.task_scores`. Raises
    :class:`~kgbench.errors.QueryError` where no two models share a case and iteration, and for an
    estimand without clusters.
    """
    how = inference(about, alpha=alpha)
    if not how.about.clustered:
        raise QueryError(f"'{about}' is what the other estimands are compared with: name another")
    chosen = chosen_scores(store, selection.tasks, metric, answers)
    models, metrics = fetch.models(store), fetch.metrics(store)
    bounds = {task: metrics[score.metric].bounds for task, score in chosen.items()}
    of_model: dict[str, list[ScoreRow]] = defaultdict(list)
    for row in chosen_rows(store, selection, chosen):
        of_model[row.model].append(row)
    rows: list[tuple[Value, ...]] = []
    verdicts: list[Verdict] = []
    tasks: list[_Task] = []
    for a, b in combinations(sorted(of_model, key=models.name), 2):
        found = matched(of_model[a], of_model[b], bounds)
        found = {task: match for task, match in found.items() if match.paired}
        if not found:
            continue
        verdict, on_tasks, cells = _compared(found, how.about, alpha)
        verdicts.append(verdict)
        tasks += on_tasks
        counted = Counter(task.verdict for task in on_tasks)
        differed = counted[Verdict.STILL] + counted[Verdict.NO_LONGER]
        named = (models.name(a), models.name(b))
        last = (str(verdict), differed, counted[Verdict.STILL], counted[Verdict.NEW])
        rows.append((*named, *cells, *last))
    if not rows:
        raise QueryError("no two models share a case and an iteration")
    return Table(
        title=f"Pairs of models ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            "p (independent): the paired t-test that takes every dialogue for independent.",
            how.note,
            *_notes(verdicts, tasks, alpha),
        ),
        queries=QUERIES,
        context={
            **selection.context,
            "metric": metric or "main",
            "round": answers,
            **how.context,
            **_counts("pairs", verdicts),
            **_counts("tasks", [task.verdict for task in tasks]),
            "tasks_lost_by_t": _lost_by_t(tasks, alpha),
        },
    )


def _compared(
    found: Mapping[str, Match], about: Estimand, alpha: float
) -> tuple[Verdict, list[_Task], tuple[Value, ...]]:
    """The verdict on all tasks together and on each, and the cells of the row."""
    on_tasks = [_on_task(match, about, alpha) for match in found.values()]
    every = list(found.values())
    before = _independent(every)
    some = informative(every, about)
    claim = clustered(some, about, None) if some else {}
    after = _number(claim.get("p"))
    differences = Histogram.of(pair.difference for match in every for pair in match.pairs)
    claimed = Histogram.of(pair.difference for match in some for pair in match.pairs)
    return (
        Verdict.of(before, after, alpha),
        on_tasks,
        (
            *(differences.n, differences.mean, before, claim.get("clusters"), claimed.mean),
            *(claim.get("ci_low"), claim.get("ci_high"), after),
        ),
    )


def _on_task(match: Match, about: Estimand, alpha: float) -> _Task:
    before = _independent([match])
    clusters = about.clusters((pair.a, pair.difference) for pair in match.pairs)
    reason = about.no_claim(clusters, alpha)
    after = clusters.p if reason is None else None
    return _Task(Verdict.of(before, after, alpha), reason, clusters.p_of_t)


def _independent(found: list[Match]) -> float | None:
    test = paired_test(pair.difference for match in found for pair in match.pairs)
    return None if test is None else test.p


def _number(value: Value) -> float | None:
    return value if isinstance(value, float) else None


def _counts(of: str, verdicts: list[Verdict]) -> dict[str, Value]:
    """How many there are, and how many have each verdict, for programs."""
    counted = Counter(verdicts)
    found: dict[str, Value] = {of: len(verdicts)}
    for verdict in (Verdict.STILL, Verdict.NO_LONGER, Verdict.NEW):
        found[f"{of}_{verdict.name.lower()}"] = counted[verdict]
    return found


def _notes(verdicts: list[Verdict], tasks: list[_Task], alpha: float) -> Iterator[str]:
    yield _changed("pairs of models", verdicts, alpha)
    yield _changed("verdicts on a task", [task.verdict for task in tasks], alpha)
    lost = [task for task in tasks if task.verdict is Verdict.NO_LONGER]
    reasons = Counter(task.no_claim for task in lost if task.no_claim is not None)
    if reasons:
        listed = "; ".join(f"{why} ({number})" for why, number in sorted(reasons.items()))
        yield f"Why nothing is claimed of such tasks: {listed}."
    by_t = _lost_by_t(tasks, alpha)
    yield (
        f"By t, which is not used below {FEWEST_FOR_T} clusters, {by_t} of these {len(lost)} "
        "verdicts would be lost as well."
    )


def _lost_by_t(tasks: list[_Task], alpha: float) -> int:
    """How many verdicts t takes back, where it is defined."""
    return sum(
        task.verdict is Verdict.NO_LONGER and task.p_of_t is not None and task.p_of_t >= alpha
        for task in tasks
    )


def _changed(what: str, verdicts: list[Verdict], alpha: float) -> str:
    counted = Counter(verdicts)
    differed = counted[Verdict.STILL] + counted[Verdict.NO_LONGER]
    return (
        f"{counted[Verdict.NO_LONGER]} of {differed} {what} that differ at p < {alpha:g} by "
        f"dialogues taken for independent no longer differ (of {len(verdicts)} in all); "
        f"{counted[Verdict.NEW]} newly differ."
    )
