# SPDX-License-Identifier: Apache-2.0
"""Comparison of models, runs or passes: the cases on which they disagree, then the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgbench.analysis.compare import compare
from kgbench.analysis.matching import Match, matches, sides
from kgbench.pages.board import bar
from kgbench.pages.snapshot import View
from kgbench.scores.inference import AVAILABLE, find_estimand
from kgbench.scores.selection import select
from kgbench.tables import Table

SIDES = ("a", "b", "c", "d")
"""URL parameters of the compared models, runs or passes."""
_MOST_CASES = 50
_LEVEL = 0.05  # of significance
_LEAST_P = 1e-4  # smaller values are not told apart


def side_by_side(view: View, suite: str | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the content of the comparison page: the first of ``names`` against the others.

    Raises :class:`~kgbench.errors.QueryError` if a name is unknown or the sides share no task.
    """
    selection = select(view, suite)
    others = names[1:] or names[:1]
    pairs = [sides(view, names[0], other) for other in others]
    first = pairs[0][0]
    values = [matches(view, selection, first, other) for _, other in pairs]
    estimand = find_estimand(AVAILABLE)
    comparisons = [
        {task: of_task.match(estimand) for task, of_task in of_tasks.items()} for of_tasks in values
    ]
    tables = [compare(match, *pair) for match, pair in zip(values, pairs, strict=True)]
    cases = _cases(comparisons)
    differing = sorted(
        (case for case in cases if case["spread"] > 0),
        key=lambda case: (-case["spread"], case["task"], case["case"]),
    )
    return {
        "sides": [(side.iri, side.shown) for side in (first, *(other for _, other in pairs))],
        "cases": differing[:_MOST_CASES],
        "disagreeing": len(differing),
        "compared": len(cases),
        "tasks": _tasks(comparisons),
        "summaries": [
            summary(table, *(side.shown for side in pair))
            for table, pair in zip(tables, pairs, strict=True)
        ],
        "tests": [
            replace(table, context={**table.context, "suite": selection.suite}) for table in tables
        ],
        "queries": [("score-rows", {"suite": selection.suite})],
    }


def _cases(comparisons: Sequence[Mapping[str, Match]]) -> list[dict[str, Any]]:
    """Return each case that all sides have, with their mean scores and the spread of these."""
    rows: dict[str, list[tuple[str, float]]] = {}
    case_of: dict[str, tuple[str, str]] = {}
    for index, of_tasks in enumerate(comparisons):
        for task, match in of_tasks.items():
            for pair in match.pairs:
                a, b = (
                    (answers[0].dialogue, value)
                    for answers, value in zip(pair, pair.means, strict=True)
                )
                row = rows.setdefault(a[0], [a])
                case_of[a[0]] = (task, pair.a[0].case)
                if len(row) == index + 1:  # all previous sides have this case
                    row.append(b)
    complete = (row for row in rows.values() if len(row) == len(comparisons) + 1)
    return [
        {
            "task": case_of[row[0][0]][0],
            "case": case_of[row[0][0]][1],
            "scores": row,
            "spread": max(value for _, value in row) - min(value for _, value in row),
        }
        for row in complete
    ]


def _tasks(comparisons: Sequence[Mapping[str, Match]]) -> list[dict[str, Any]]:
    """Return each side's mean on each shared task, the largest differences first."""
    shared = [task for task in comparisons[0] if all(task in other for other in comparisons)]
    rows = []
    for task in shared:
        of_task = [match[task] for match in comparisons]
        known = [of_task[0].means[0], *(match.means[1] for match in of_task)]
        rows.append(
            {
                "task": task,
                "n": len(of_task[0].compared_rows()[0]),
                "paired": all(match.paired for match in of_task),
                "means": [(mean, bar(mean)) for mean in known],
                "spread": max(known) - min(known),
            }
        )
    return sorted(rows, key=lambda row: (-float(str(row["spread"])), str(row["task"])))


def summary(table: Table, a: str, b: str) -> str:
    """Say in a sentence how A and B compare over all tasks; ``table`` compares them.

    It gives both means, their difference with its interval, and whether it may be due to chance.
    """
    row = table.records()[-1]  # that of all tasks, if there are several
    means = [row["mean_a"], row["mean_b"], row["difference"]]
    if not all(isinstance(mean, float) for mean in means):
        return f"{a} and {b} have no common score."
    mean_a, mean_b, difference = means
    said = f"{a} scores {mean_a:.3f}, {b} {mean_b:.3f}: a difference of {difference:+.3f}"
    if row["ci_low"] is not None:
        said += f" (95 % interval {row['ci_low']:+.3f} to {row['ci_high']:+.3f})"
    p, reason = row["p"], row.get("no_claim")
    if reason or not isinstance(p, float):
        return f"{said}. No claim{f': {reason}' if reason else ' can be tested'}."
    chance = "It may be due to chance" if p >= _LEVEL else "It is hardly due to chance"
    return f"{said}. {chance} (p {'< 0.0001' if p < _LEAST_P else f'= {p:.4f}'})."
