# SPDX-License-Identifier: Apache-2.0
"""Groups of judged items by task, model, length of the answer or position of the right option."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import median

from kgbench.analysis.verdicts import Judgement
from kgbench.scores import catalogue


class JudgeGrouping(StrEnum):
    """The properties that judgements can be grouped by."""

    NOTHING = "nothing"
    TASK = "task"
    MODEL = "model"
    LENGTH = "length"
    POSITION = "position"


def by_rubric(judgements: Iterable[Judgement]) -> list[tuple[str, list[Judgement]]]:
    """Group judgements by the name of their rubric, in the order of names."""
    rubrics: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        rubrics[judgement.rubric.name].append(judgement)
    return sorted(rubrics.items())


def judges_of(items: Iterable[Judgement], models: catalogue.Models) -> list[str]:
    """Return the judges (IRIs) that were asked about any of the items, sorted by name."""
    return sorted(
        {verdict.judge for judgement in items for verdict in judgement.verdicts}, key=models.name
    )


def grouped(
    items: Sequence[Judgement],
    by: JudgeGrouping,
    tasks: Mapping[str, catalogue.TaskInfo],
    models: catalogue.Models,
) -> dict[str, list[Judgement]]:
    """Group judgements by a property; without one there is a single group with an empty name."""
    middle = median(_length(judgement) for judgement in items)
    names: dict[JudgeGrouping, Callable[[Judgement], str]] = {
        JudgeGrouping.NOTHING: lambda _: "",
        JudgeGrouping.TASK: lambda judgement: tasks[judgement.first.items[0].task].name,
        JudgeGrouping.MODEL: lambda judgement: " and ".join(
            sorted({models.name(item.model) for item in judgement.first.items})
        ),
        JudgeGrouping.LENGTH: lambda judgement: (
            f"longer than {middle:g} characters"
            if _length(judgement) > middle
            else f"at most {middle:g} characters"
        ),
        JudgeGrouping.POSITION: _position,
    }
    groups: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in items:
        groups[names[by](judgement)].append(judgement)
    return groups


def _length(judgement: Judgement) -> int:
    return max(item.characters for item in judgement.first.items)


def _position(judgement: Judgement) -> str:
    """Return the position at which judges were shown the option that execution implies."""
    verdict = judgement.first
    if len(verdict.items) > 1:
        return "both orders"
    if judgement.executed not in verdict.order:
        return "not known"
    return f"right option at place {verdict.order.index(judgement.executed) + 1}"
