# SPDX-License-Identifier: Apache-2.0
"""Comparison of models, runs or passes: the cases on which they disagree, then the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgbench.analysis.compare import compare
from kgbench.analysis.display_names import display_names
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.matching import Match, matches
from kgbench.analysis.scores import ScoreRow
from kgbench.analysis.selection import select
from kgbench.analysis.sides import Side, sides
from kgbench.pages import contents
from kgbench.pages.board import bar, heat
from kgbench.pages.snapshot import View
from kgbench.pages.tables import sheet

SIDES = ("a", "b", "c", "d")
"""URL parameters of the compared models, runs or passes."""
_MOST_CASES = 50


def side_by_side(view: View, suite: str | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the content of the comparison page: the first of ``names`` against the others.

    Raises :class:`~kgbench.errors.QueryError` if a name is unknown or the sides share no task.
    """
    selection = select(view, suite)
    others = names[1:] or names[:1]
    pairs = [sides(view, names[0], other) for other in others]
    first = pairs[0][0]
    comparisons = [matches(view, selection, first, other) for _, other in pairs]
    display = display_names(view)
    cases = _cases(comparisons)
    differing = sorted(
        (case for case in cases if case["spread"] > 0),
        key=lambda case: (-case["spread"], case["iteration"], case["task"], case["case"]),
    )
    return {
        "sides": [
            (side.iri, side.name, display.get(side.name, side.name))
            for side in (first, *(other for _, other in pairs))
        ],
        "cases": differing[:_MOST_CASES],
        "disagreeing": len(differing),
        "compared": len(cases),
        "tasks": _tasks(comparisons),
        "tests": [
            _test(view, match, pair, selection.suite)
            for match, pair in zip(comparisons, pairs, strict=True)
        ],
        "queries": [("score-rows", {"suite": selection.suite})],
    }


def _cases(comparisons: Sequence[Mapping[str, Match]]) -> list[dict[str, Any]]:
    """Return each case and iteration that all sides have, with their scores and the spread."""
    rows: dict[str, list[ScoreRow]] = {}
    task_of: dict[str, str] = {}
    for index, of_tasks in enumerate(comparisons):
        for task, match in of_tasks.items():
            for pair in match.pairs:
                row = rows.setdefault(pair.a.dialogue, [pair.a])
                task_of[pair.a.dialogue] = task
                if len(row) == index + 1:  # all previous sides have this case
                    row.append(pair.b)
    complete = (row for row in rows.values() if len(row) == len(comparisons) + 1)
    return [
        {
            "task": task_of[row[0].dialogue],
            "case": row[0].case,
            "iteration": row[0].iteration,
            "scores": [(score.dialogue, heat(score.value, 1)) for score in row],
            "spread": max(score.value for score in row) - min(score.value for score in row),
        }
        for row in complete
    ]


def _tasks(comparisons: Sequence[Mapping[str, Match]]) -> list[dict[str, Any]]:
    """Return each side's mean on each shared task, the largest differences first."""
    shared = [task for task in comparisons[0] if all(task in other for other in comparisons)]
    rows = []
    for task in shared:
        used = [match[task].compared_rows() for match in comparisons]
        means = [_mean(used[0][0]), *(_mean(theirs) for _, theirs in used)]
        known = [mean for mean in means if mean is not None]
        rows.append(
            {
                "task": task,
                "n": len(used[0][0]),
                "paired": all(match[task].paired for match in comparisons),
                "means": [(mean, bar(mean)) for mean in means],
                "spread": max(known) - min(known) if known else 0.0,
            }
        )
    return sorted(rows, key=lambda row: (-float(str(row["spread"])), str(row["task"])))


def _mean(rows: Iterable[ScoreRow]) -> float | None:
    return Histogram.of(row.value for row in rows).mean


def _test(view: View, match: Mapping[str, Match], pair: tuple[Side, Side], suite: str) -> Any:
    return sheet(compare(match, *pair), contents.names(view), suite)
