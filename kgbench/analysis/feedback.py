# SPDX-License-Identifier: Apache-2.0
"""Gains by feedback in dialogues with several rounds: the first answer against the best and last.

The best answer is never worse than the first, so even random answers have a gain. The test is
therefore that of the last answer, which may be worse. Neither distinguishes feedback from further
tries.

The score is the metric of single answers that a task's main metric aggregates. The gain, with its
interval, is that of the best answer; ``p`` is that of a paired test of the last answer against the
first. ``improved`` is the share of dialogues whose best answer is better than their first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from kgbench.analysis.registry import Arguments, EstimandName, Purpose, analysis
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo, TaskInfo
from kgbench.scores.inference import CASES, Estimand, inference
from kgbench.scores.reading import CHOOSING, ROWS, Score, ScoreRow, score_rows
from kgbench.scores.selection import ALL as EVERY_TASK
from kgbench.scores.selection import Selection
from kgbench.statistics.histogram import Histogram, mean
from kgbench.statistics.intervals import DIFFERENCE_NOTE, Bounds, score_interval
from kgbench.statistics.significance import paired_test
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

ALL = "all dialogues"
WITH = "any feedback"
COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("feedback", "First feedback"),
    Column("metric", "Metric"),
    Column("n", "n", Kind.COUNT),
    Column("first", "First", Kind.SCORE),
    Column("last", "Last", Kind.SCORE),
    Column("best", "Best", Kind.SCORE),
    Column("gain", "Gain", Kind.SCORE),
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p (last)", Kind.P),
    Column("no_claim", "No claim"),
    Column("improved", "Improved", Kind.SHARE),
    Column("worse_at_end", "Worse at end", Kind.SHARE),
)
QUERIES = (*CHOOSING, *ROWS, "feedback-kinds")


Course: TypeAlias = Sequence[ScoreRow]
"""The scores of one dialogue, round by round."""


def _parts(store: Store, selection: Selection, _: Arguments) -> dict[str, list[Score]]:
    """Return the scores of single answers in all rounds, by task."""
    names = catalogue.tasks(store)
    return {
        names[task].name: [Score(task, metric.iri, None)]
        for task, metric in metrics_of_answers(store, selection.tasks).items()
    }


@analysis("dialogue", Purpose.COMPARE, parts=_parts)
def feedback(
    store: Store,
    selection: Selection,
    *,
    estimand: EstimandName = CASES,
) -> Table:
    """Compare the first answer of each dialogue with its best answer after feedback.

    >>> results = kgbench.open("kgbench-results")
    >>> results.feedback().where("feedback", "all dialogues").column("best")
    [1.0, 1.0]
    """
    inference_ = inference(estimand)
    all_tasks, watched = catalogue.tasks(store), metrics_of_answers(store, selection.tasks)
    if not watched:
        raise QueryError(
            "the store has no tasks with several rounds, such as RdfSyntaxFixList"
            if selection.tasks == EVERY_TASK
            else f"no task that matches '{selection.tasks}' has several rounds"
        )
    kinds = _first_feedback(store, selection)
    groups: dict[tuple[str, str, str], list[Course]] = defaultdict(list)
    for (model, task, dialogue), course in _courses(store, selection, watched).items():
        kind = kinds.get(dialogue)
        groups[task, model, ALL].append(course)
        if kind is not None:
            groups[task, model, WITH].append(course)
            groups[task, model, kind].append(course)
    names = catalogue.models(store)
    rows = [
        (
            all_tasks[task].name,
            names.name(model),
            kind,
            watched[task].name,
            *_statistics(courses, watched[task], inference_.estimand),
        )
        for (task, model, kind), courses in groups.items()
        if names.fits(model, selection.models)
    ]
    order = {ALL: 0, WITH: 1}
    return Table(
        title=f"What feedback brings ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda r: (r[0], r[1], order.get(str(r[2]), 2), r[2]))),
        notes=(
            "Rows of a kind of feedback cover harder dialogues: only wrong answers get feedback.",
            "Gain and interval compare the best answer with the first, p the last with the first.",
            inference_.note,
            *([] if inference_.estimand.clustered else [DIFFERENCE_NOTE]),
        ),
        queries=QUERIES,
        context={**selection.context, **inference_.context},
    )


def metrics_of_answers(store: Store, glob: str = "*") -> dict[str, MetricInfo]:
    """Return the metric of single answers of each matching task (IRI) with several rounds."""
    metrics = catalogue.metrics(store)
    return {
        task.iri: base
        for task in catalogue.tasks(store).values()
        if task.rounds > 1 and task.fits(glob) and (base := _base(task, metrics)) is not None
    }


def _base(task: TaskInfo, metrics: dict[str, MetricInfo]) -> MetricInfo | None:
    main = metrics.get(task.main_metric or "")
    if main is None:
        return None
    return main if main.base is None else metrics.get(main.base)


def _first_feedback(store: Store, selection: Selection) -> dict[str, str]:
    rows = queries.rows(store, "feedback-kinds", runGraph=list(selection.run_graphs))
    first: dict[str, tuple[int, str]] = {}
    for dialogue, round_, kind in rows:
        kind_of_round = (int(round_ or 0), str(kind))
        first[str(dialogue)] = min(first.get(str(dialogue), kind_of_round), kind_of_round)
    return {dialogue: kind for dialogue, (_, kind) in first.items()}


def _courses(
    store: Store, selection: Selection, watched: dict[str, MetricInfo]
) -> dict[tuple[str, str, str], Course]:
    """Return the course of each dialogue whose first answer has a score."""
    scores: dict[tuple[str, str, str], dict[int, ScoreRow]] = defaultdict(dict)
    for row in score_rows(store, selection, [metric.iri for metric in watched.values()]):
        base = watched.get(row.task)
        if base is not None and base.iri == row.metric and row.round is not None:
            scores[row.model, row.task, row.dialogue][row.round] = row
    return {
        key: [by_round[k] for k in sorted(by_round)]
        for key, by_round in scores.items()
        if 0 in by_round
    }


def _statistics(
    courses: Sequence[Course], metric: MetricInfo, estimand: Estimand
) -> tuple[Value, ...]:
    best_of = max if metric.higher_is_better else min
    firsts, lasts = ([course[k].value for course in courses] for k in (0, -1))
    bests = [best_of(row.value for row in course) for course in courses]
    gains = [best - first for first, best in zip(firsts, bests, strict=True)]
    changes = [last - first for first, last in zip(firsts, lasts, strict=True)]
    worse = sum(change < 0 if metric.higher_is_better else change > 0 for change in changes)
    low, high = metric.bounds.differences
    # The best answer of a dialogue is never worse than the first.
    bounds = Bounds(0.0, high) if metric.higher_is_better else Bounds(low, 0.0)
    if estimand.clustered:
        rows = [course[0] for course in courses]
        clusters = estimand.clusters(zip(rows, gains, strict=True))
        changed = estimand.clusters(zip(rows, changes, strict=True))
        number, interval = clusters.number, clusters.interval(bounds)
        p, no_claim = changed.p, estimand.no_claim(changed)
    else:
        number, interval = len(gains), score_interval(Histogram.of(gains), bounds)
        test = paired_test(changes)
        p, no_claim = None if test is None else test.p, None
    return (
        *(len(courses), mean(firsts), mean(lasts), mean(bests), Histogram.of(gains).mean),
        *(number, *(interval or (None, None)), p, no_claim),
        *(sum(gain != 0 for gain in gains) / len(courses), worse / len(courses)),
    )
