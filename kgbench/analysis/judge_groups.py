# SPDX-License-Identifier: Apache-2.0
"""Groups of judged items: by task, model, length of the answer, place of the right option."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from kgbench.analysis import scores as fetch
from kgbench.analysis.judge_analyses import By
from kgbench.analysis.verdicts import Judgement


def by_rubric(found: Iterable[Judgement]) -> list[tuple[str, list[Judgement]]]:
    """Judgements by the name of their rubric, in the order of names."""
    rubrics: dict[str, list[Judgement]] = defaultdict(list)
    for one in found:
        rubrics[one.rubric.name].append(one)
    return sorted(rubrics.items())


def judges_of(items: Iterable[Judgement], models: fetch.Models) -> list[str]:
    """The judges (IRIs) that were asked about any of the items, by name."""
    return sorted({one.judge for each in items for one in each.given}, key=models.name)


def grouped(
    items: Sequence[Judgement],
    by: By,
    tasks: Mapping[str, fetch.TaskInfo],
    models: fetch.Models,
) -> dict[str, list[Judgement]]:
    """Judgements by the name of their group; one nameless group where ``by`` is nothing."""
    middle = median(_length(one) for one in items)
    names: dict[By, Callable[[Judgement], str]] = {
        By.NOTHING: lambda _: "",
        By.TASK: lambda one: tasks[one.first.items[0].task].name,
        By.MODEL: lambda one: " and ".join(
            sorted({models.name(item.model) for item in one.first.items})
        ),
        By.LENGTH: lambda one: (
            f"longer than {middle:g} characters"
            if _length(one) > middle
            else f"at most {middle:g} characters"
        ),
        By.POSITION: _position,
    }
    found: dict[str, list[Judgement]] = defaultdict(list)
    for one in items:
        found[names[by](one)].append(one)
    return found


def _length(judgement: Judgement) -> int:
    return max(item.characters for item in judgement.first.items)


def _position(judgement: Judgement) -> str:
    """At which place the judges were shown the option that execution implies."""
    one = judgement.first
    if len(one.items) > 1:
        return "both orders"
    if judgement.executed not in one.order:
        return "not known"
    return f"right option at place {one.order.index(judgement.executed) + 1}"
