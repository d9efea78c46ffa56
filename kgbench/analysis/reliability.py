# SPDX-License-Identifier: Apache-2.0
"""The reliability of models on cases: pass@k, pass^k and the agreement of repetitions.

There is a row for each task and model, and one per model over all its tasks. A dialogue is solved
if its score reaches ``solved``; a task whose metric declares no threshold then has no row. Shares
are means over cases, and those over all tasks are means over tasks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from kgbench.analysis.format_preference import ALL_TASKS
from kgbench.analysis.registry import (
    NO_SCORES,
    Common,
    Metric,
    Option,
    Purpose,
    Round,
    Solved,
    analysis,
)
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo
from kgbench.scores.reading import BY_CASE, CHOOSING, repetitions, threshold, undeclared_note
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import (
    chosen_scores,
    common_note,
    common_tasks,
    parts_by_task,
    score_name,
)
from kgbench.statistics.histogram import mean
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

QUERIES = (*CHOOSING, *BY_CASE)


def pass_at(k: int, n: int, solved: int) -> float | None:
    """Estimate the probability that at least one of ``k`` tries solves a case: pass@k.

    ``solved`` of ``n`` tries solved it. The unbiased estimator is 1 - C(n - solved, k) / C(n, k)
    (Chen et al., Evaluating Large Language Models Trained on Code, 2021, section 2.1); ``None`` for
    fewer than ``k`` tries.

    >>> pass_at(2, 4, 1), pass_at(5, 4, 1)
    (0.5, None)
    """
    return 1 - math.comb(n - solved, k) / math.comb(n, k) if n >= k else None


def pass_all(k: int, n: int, solved: int) -> float | None:
    """Estimate the probability that all of ``k`` tries solve a case: pass^k.

    ``solved`` of ``n`` tries solved it. The unbiased estimator is C(solved, k) / C(n, k) (Yao et
    al., tau-bench, 2024, section 3); ``None`` for fewer than ``k`` tries.

    >>> pass_all(2, 4, 3), pass_all(2, 4, 1)
    (0.5, 0.0)
    """
    return math.comb(solved, k) / math.comb(n, k) if n >= k else None


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability of one model on the cases of one task, or on several tasks together.

    ``repetitions`` is the smallest number of values of a case. ``enough`` is the number of cases
    with at least k values, which pass@k (``at_least_one``) and pass^k (``all_of_them``) cover.
    ``agree`` is the share of repeated cases with all repetitions solved, or none.
    """

    tasks: int
    cases: int
    repetitions: int
    n: int
    enough: int
    once: float | None
    at_least_one: float | None
    all_of_them: float | None
    agree: float | None

    @classmethod
    def of(cls, counts: Sequence[tuple[int, int]], k: int) -> Reliability:
        """Compute the reliability on one task; ``counts`` has tries and solved tries by case."""
        enough = [(n, solved) for n, solved in counts if n >= k]
        return cls(
            tasks=1,
            cases=len(counts),
            repetitions=min(n for n, _ in counts),
            n=sum(n for n, _ in counts),
            enough=len(enough),
            once=_mean(pass_at(1, *count) for count in counts),
            at_least_one=_mean(pass_at(k, *count) for count in enough),
            all_of_them=_mean(pass_all(k, *count) for count in enough),
            agree=_mean(float(solved in (0, n)) for n, solved in counts if n > 1),
        )

    @classmethod
    def over(cls, tasks: Sequence[Reliability]) -> Reliability:
        """Compute the mean over tasks; each share is averaged over the tasks that have it."""
        return cls(
            tasks=len(tasks),
            cases=sum(task.cases for task in tasks),
            repetitions=min(task.repetitions for task in tasks),
            n=sum(task.n for task in tasks),
            enough=sum(task.enough for task in tasks),
            once=_mean(task.once for task in tasks),
            at_least_one=_mean(task.at_least_one for task in tasks),
            all_of_them=_mean(task.all_of_them for task in tasks),
            agree=_mean(task.agree for task in tasks),
        )

    @property
    def values(self) -> tuple[Value, ...]:
        """The values in the order of the columns of the table."""
        counts = (self.tasks, self.cases, self.repetitions, self.n, self.enough)
        return (*counts, self.once, self.at_least_one, self.all_of_them, self.agree)


@analysis("reliability", Purpose.UNDERSTAND, parts=parts_by_task)
def reliability(
    store: Store,
    selection: Selection,
    *,
    k: Annotated[int, Option("The k of pass@k and pass^k.", metavar="K", min=1)] = 2,
    solved: Solved = None,
    metric: Metric = None,
    round: Round = None,
    common: Common = False,
) -> Table:
    """Measure how reliably models solve cases: pass@k, pass^k and agreement of repetitions.

    >>> results = kgbench.open("kgbench-results")
    >>> results.reliability(k=1).where("task", "All tasks").column("pass_1")
    [0.5, 1.0]
    """
    chosen = chosen_scores(store, selection.tasks, metric, round)
    metrics, tasks = catalogue.metrics(store), catalogue.tasks(store)
    models = catalogue.models(store)
    counts: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    undeclared: dict[str, MetricInfo] = {}
    for item, by_model in repetitions(store, selection, chosen).items():
        metric_info = metrics[chosen[item.task].metric]
        success = threshold(metric_info, solved)
        if success is None:
            undeclared[metric_info.iri] = metric_info
            continue
        for model, reached in by_model.items():
            case = (reached.values.n, reached.solved(metric_info, success))
            counts[model][item.task].append(case)
    shared = common_tasks(counts) if common and counts else None
    cells = {
        model: {
            task: Reliability.of(cases, k)
            for task, cases in by_task.items()
            if shared is None or task in shared
        }
        for model, by_task in sorted(counts.items(), key=lambda pair: models.name(pair[0]))
    }
    rows_of_tasks = [
        (
            tasks[task].name,
            models.name(model),
            score_name(chosen[task], metrics),
            threshold(metrics[chosen[task].metric], solved),
            *cell.values,
        )
        for model, by_task in cells.items()
        for task, cell in by_task.items()
    ]
    rows_of_all = [
        (ALL_TASKS, models.name(model), None, solved, *Reliability.over(list(of_tasks)).values)
        for model, by_task in cells.items()
        if (of_tasks := by_task.values())
    ]
    notes = list(_notes(cells, k))
    if undeclared:
        notes.append(undeclared_note(undeclared))
    if shared is not None:
        notes.append(common_note([tasks[task].name for task in shared], len(cells)))
    return Table(
        title=f"Reliability ({selection.suite_name})",
        columns=_columns(k),
        rows=(*sorted(rows_of_tasks, key=lambda row: (str(row[0]), str(row[1]))), *rows_of_all),
        notes=tuple(notes),
        queries=QUERIES,
        context={**selection.context, "k": k, "solved": solved, "metric": metric or "main"},
    ).explained(NO_SCORES)


def _columns(k: int) -> tuple[Column, ...]:
    return (
        Column("task", "Task"),
        Column("model", "Model"),
        Column("metric", "Metric"),
        Column("threshold", "Solved from", Kind.SCORE),
        Column("tasks", "Tasks", Kind.COUNT),
        Column("cases", "Cases", Kind.COUNT),
        Column("repetitions", "Repetitions", Kind.COUNT),
        Column("n", "n", Kind.COUNT),
        Column("cases_k", f"Cases with {k}", Kind.COUNT),
        Column("pass_1", "pass@1", Kind.SCORE),
        Column("pass_at_k", f"pass@{k}", Kind.SCORE),
        Column("pass_all_k", f"pass^{k}", Kind.SCORE),
        Column("agree", "Agree", Kind.SHARE),
    )


def _notes(cells: Mapping[str, Mapping[str, Reliability]], k: int) -> Iterable[str]:
    all_cells = [cell for by_task in cells.values() for cell in by_task.values()]
    yield (
        f"pass@{k} is the chance that at least one of {k} tries solves a case, pass^{k} that all "
        f"of them do."
    )
    short = sum(cell.cases - cell.enough for cell in all_cells)
    if short:
        total = sum(cell.cases for cell in all_cells)
        yield (
            f"pass@{k} and pass^{k} leave out {short} of {total} cases (counted for each model), "
            f"which have fewer than {k} repetitions."
        )


def _mean(shares: Iterable[float | None]) -> float | None:
    return mean(share for share in shares if share is not None)
