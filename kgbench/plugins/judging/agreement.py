# SPDX-License-Identifier: Apache-2.0
"""Agreement of judges with executed outcomes and with each other, over all items or by group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from statistics import median
from typing import Annotated

from kgbench.analysis.outcomes import outcome_counts
from kgbench.analysis.registry import Option
from kgbench.analysis.verdicts import (
    ADJUDICATION,
    EXECUTION,
    QUERIES,
    Judgement,
    judge_passes,
    judgements,
    verdicts,
)
from kgbench.api import Column, Kind, Outcome, Purpose, Selection, Store, Table, Value, analysis
from kgbench.scores import catalogue
from kgbench.scores.inference import inference
from kgbench.statistics import rater_agreement

METHOD = "resampled-cases"
ALL_JUDGES = "all judges"
NO_JUDGES = (
    "No judge has given a verdict on these dialogues: run `kgbench judge`; if it has run, `kgbench "
    "status` tells how its answers ended."
)
_PAIR = 2  # raters

_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("judge", "Judge"),
    Column("against", "Against"),
    Column("group", "Group"),
    Column("items", "Items", Kind.COUNT),
    Column("clusters", "Cases", Kind.COUNT),
    Column("agreement", "Agreement", Kind.SHARE),
    Column("agreement_low", "from", Kind.SHARE),
    Column("agreement_high", "to", Kind.SHARE),
    Column("kappa", "Kappa", Kind.SCORE),
    Column("kappa_low", "from", Kind.SCORE),
    Column("kappa_high", "to", Kind.SCORE),
    Column("alpha", "Alpha", Kind.SCORE),
    Column("ac1", "AC1", Kind.SCORE),
    Column("false_alarms", "False alarms", Kind.SHARE),
    Column("misses", "Misses", Kind.SHARE),
    Column("undecided", "Undecided", Kind.SHARE),
    Column("consistent", "Consistent", Kind.SHARE),
    Column("unreadable", "No verdict", Kind.SHARE),
)
_NOTES = (
    "Kappa is Cohen's, of all judges Fleiss'; alpha is Krippendorff's (nominal), AC1 Gwet's.",
    (
        "Execution is the verdict that the main metric implies: a false alarm is an answer with "
        "the best value that the judge rates lower, a miss one that the judge rates higher."
    ),
    (
        "Undecided are items that the judge cannot decide, or on which its samples tie; no verdict "
        "is the share of answers that do not end with one."
    ),
)


class JudgeGrouping(StrEnum):
    """The properties that judgements can be grouped by."""

    NOTHING = "nothing"
    TASK = "task"
    MODEL = "model"
    LENGTH = "length"
    POSITION = "position"


@analysis("agreement", Purpose.JUDGES, reads=("judge-passes",))
def agreement(
    store: Store,
    selection: Selection,
    *,
    by: Annotated[
        JudgeGrouping,
        Option(
            "Show a row for each task, model, length (of the answer) or position (of the right "
            "option) instead of one for all."
        ),
    ] = JudgeGrouping.NOTHING,
    samples: Annotated[int, Option("Bootstrap samples.", min=1, panel="Tests")] = 2_000,
    seed: Annotated[int, Option("Seed of the bootstrap.", min=0, panel="Tests")] = 0,
) -> Table:
    """Measure the agreement of judges with executed outcomes and each other.

    Each judge is compared with execution and with each other judge; three or more judges are also
    compared as a group. Intervals resample cases. A false alarm is an item with the highest value
    by execution and a lower one by the judge; a miss has a lower value by execution than by the
    judge. Their shares are of the items where they are possible.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.agreement())
    0
    """
    all_judgements = judgements(verdicts(store, selection))
    models, tasks = catalogue.models(store), catalogue.tasks(store)
    lacking = _unreadable(store, selection, tasks)
    rows: list[tuple[Value, ...]] = []
    for rubric, of_rubric in by_rubric(all_judgements):
        judges = judges_of(of_rubric, models)
        for group, items in sorted(_grouped(of_rubric, by, tasks, models).items()):
            for raters in _rater_sets(judges):
                row = _row(items, raters, samples, seed)
                if row is not None:
                    named = None if by is JudgeGrouping.NOTHING else group
                    no_verdict = lacking.get((rubric, raters[0])) if EXECUTION in raters else None
                    rows.append((rubric, *_names(raters, models), named, *row, no_verdict))
    inference_ = inference(by=METHOD)
    return Table(
        title=f"Agreement of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(*_NOTES, inference_.note) if all_judgements else (NO_JUDGES,),
        reason=None if all_judgements else NO_JUDGES,
        queries=QUERIES,
        context={
            **selection.context,
            **inference_.context,
            "by": str(by),
            "samples": samples,
            "seed": seed,
        },
    )


# --- raters ---------------------------------------------------------------------------------


def judges_of(items: Iterable[Judgement], models: catalogue.Models) -> list[str]:
    """Return the judges (IRIs) that were asked about any of the items, sorted by name."""
    return sorted(
        {verdict.judge for judgement in items for verdict in judgement.verdicts}, key=models.name
    )


def _rater_sets(judges: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the sets of raters to compare: judge and execution, two judges, all judges."""
    for judge in judges:
        yield judge, EXECUTION
    yield from combinations(judges, _PAIR)
    # Adjudications are made with knowledge of the other verdicts.
    independent = [judge for judge in judges if judge != ADJUDICATION]
    if len(independent) > _PAIR:
        yield tuple(independent)


def _names(raters: Sequence[str], models: catalogue.Models) -> tuple[str, str]:
    if len(raters) > _PAIR:
        return ALL_JUDGES, "each other"
    first, second = raters
    return models.name(first), EXECUTION if second == EXECUTION else models.name(second)


def _unreadable(
    store: Store, selection: Selection, tasks: Mapping[str, catalogue.TaskInfo]
) -> dict[tuple[str, str], float]:
    """Return the share of answers without a verdict, by names of rubrics and IRIs of judges."""
    counts: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for ended, times in outcome_counts(store, judge_passes(store, selection)):
        rubric = tasks[ended.task].label.removeprefix("JudgeVerdict-")
        counts[rubric, ended.model][ended.outcome == Outcome.SCORED] += times
    return {key: count[False] / count.total() for key, count in counts.items() if count.total()}


# --- groups of items ------------------------------------------------------------------------


def by_rubric(judgements_: Iterable[Judgement]) -> list[tuple[str, list[Judgement]]]:
    """Group judgements by the name of their rubric, in the order of names."""
    rubrics: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements_:
        rubrics[judgement.rubric.name].append(judgement)
    return sorted(rubrics.items())


def _grouped(
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


# --- rows -----------------------------------------------------------------------------------


def _row(
    items: Sequence[Judgement], raters: Sequence[str], samples: int, seed: int
) -> tuple[Value, ...] | None:
    table = _ratings(items, raters)
    cases = [judgement.first.cluster for judgement in items]

    def estimated(coefficient: rater_agreement.Coefficient) -> rater_agreement.AgreementEstimate:
        return rater_agreement.estimate(coefficient, table, cases, samples=samples, seed=seed)

    agreed = estimated(rater_agreement.percent_agreement)
    if not agreed.items:
        return None
    kappa = estimated(
        rater_agreement.cohen_kappa if len(raters) == _PAIR else rater_agreement.fleiss_kappa
    )
    alarms, misses = _errors(items, raters[0]) if raters[1] == EXECUTION else (None, None)
    asked = [
        (judgement, judge, options)
        for judgement in items
        for judge in raters
        if (options := _options(judgement, judge))
    ]
    return (
        agreed.items,
        len(set(cases)),
        *_with_interval(agreed),
        *_with_interval(kappa),
        rater_agreement.krippendorff_alpha(table),
        rater_agreement.gwet_ac1(table),
        alarms,
        misses,
        _share(judge not in judgement.by_judge for judgement, judge, _ in asked),
        _share(len(set(options)) == 1 for *_, options in asked if len(options) > 1),
    )


def _ratings(items: Sequence[Judgement], raters: Sequence[str]) -> rater_agreement.Ratings:
    rubric = items[0].rubric
    rows = [
        [
            judgement.executed if rater == EXECUTION else judgement.by_judge.get(rater)
            for rater in raters
        ]
        for judgement in items
    ]
    return rater_agreement.Ratings.of(
        rows, [option.name for option in rubric.options if not option.undecided]
    )


def _options(judgement: Judgement, judge: str) -> list[str | None]:
    """Return all verdicts of a judge on an item, also in both orders of a pair."""
    return [
        verdict.unordered(verdict.chosen)
        for verdict in judgement.verdicts
        if verdict.judge == judge
    ]


def _errors(items: Iterable[Judgement], judge: str) -> tuple[float | None, float | None]:
    """Return the shares of false alarms and of misses; ``None`` where the rubric has no values."""
    alarms, misses = [], []
    for judgement in items:
        value = judgement.first.value(judgement.by_judge.get(judge))
        truth = judgement.first.value(judgement.executed)
        if value is None or truth is None or len(judgement.first.items) > 1:
            continue
        if truth == 1:
            alarms.append(value < truth)
        else:
            misses.append(value > truth)
    return _share(alarms), _share(misses)


def _share(values: Iterable[bool]) -> float | None:
    flags = list(values)
    return sum(flags) / len(flags) if flags else None


def _with_interval(agreed: rater_agreement.AgreementEstimate) -> tuple[Value, Value, Value]:
    low, high = agreed.interval or (None, None)
    return agreed.value, low, high
