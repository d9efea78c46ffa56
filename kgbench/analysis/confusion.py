# SPDX-License-Identifier: Apache-2.0
"""Confusion tables of judges: their verdicts by the verdicts of execution or another judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from kgbench.analysis.judge_agreement import NO_JUDGES, rater_names, rater_sets
from kgbench.analysis.judge_groups import JudgeGrouping, by_rubric, grouped, judges_of
from kgbench.analysis.registry import Option, Purpose, analysis
from kgbench.analysis.verdicts import EXECUTION, QUERIES, Judgement, judgements, verdicts
from kgbench.scores import catalogue
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

UNDECIDED = "undecided"
_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("judge", "Judge"),
    Column("against", "Against"),
    Column("group", "Group"),
    Column("expected", "Expected"),
    Column("said", "Said"),
    Column("items", "Items", Kind.COUNT),
    Column("share", "Share", Kind.SHARE),
)
_NOTES = (
    "Expected is the verdict of execution or of the other judge, and the share is of these items.",
    "Answers of the judge without a verdict are not counted here.",
)


@analysis(
    "confusion",
    Purpose.JUDGES,
    reads=("judge-passes",),
    figure="kgbench.plots.judge_maps:CONFUSION",
)
def confusion(
    store: Store,
    selection: Selection,
    *,
    by: Annotated[
        JudgeGrouping,
        Option(
            "Make a table for each task, model, length (of the answer) or position (of the right "
            "option) instead of one for all."
        ),
    ] = JudgeGrouping.NOTHING,
) -> Table:
    """Count the verdicts of each judge by the verdict of execution or of another judge.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.confusion())
    0
    """
    all_judgements = judgements(verdicts(store, selection))
    models, tasks = catalogue.models(store), catalogue.tasks(store)
    rows: list[tuple[Value, ...]] = []
    for rubric, of_rubric in by_rubric(all_judgements):
        pairs = [pair for pair in rater_sets(judges_of(of_rubric, models)) if len(pair) == 2]  # noqa: PLR2004
        for group, items in sorted(grouped(of_rubric, by, tasks, models).items()):
            name = None if by is JudgeGrouping.NOTHING else group
            for judge, against in pairs:
                names = rater_names((judge, against), models)
                cells = _cells(items, judge, against)
                rows += [(rubric, *names, name, *cell) for cell in cells]
    return Table(
        title=f"Confusion of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=_NOTES if all_judgements else (NO_JUDGES,),
        reason=None if all_judgements else NO_JUDGES,
        queries=QUERIES,
        context={**selection.context, "by": str(by)},
    )


def _cells(
    items: Sequence[Judgement], judge: str, against: str
) -> Iterator[tuple[str, str, int, float]]:
    counts: Counter[tuple[str, str]] = Counter()
    for judgement in items:
        expected = judgement.executed if against == EXECUTION else judgement.by_judge.get(against)
        if expected is not None and any(verdict.judge == judge for verdict in judgement.verdicts):
            counts[expected, judgement.by_judge.get(judge, UNDECIDED)] += 1
    names = [option.name for option in items[0].rubric.options if not option.undecided]
    for expected in names:
        of_row = {answer: counts[expected, answer] for answer in (*names, UNDECIDED)}
        total = sum(of_row.values())
        for answer, number in of_row.items():
            if total:
                yield expected, answer, number, number / total
