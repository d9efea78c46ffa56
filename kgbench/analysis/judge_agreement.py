# SPDX-License-Identifier: Apache-2.0
"""Agreement of judges with executed outcomes and with each other, over all items or by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Annotated

from kgbench.analysis.judge_groups import JudgeGrouping, by_rubric, grouped, judges_of
from kgbench.analysis.rater_agreement import (
    AgreementEstimate,
    Coefficient,
    cohen_kappa,
    estimate,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from kgbench.analysis.registry import Declared, Option, OptionRefused, Purpose, analysis
from kgbench.analysis.verdicts import (
    ADJUDICATION,
    EXECUTION,
    QUERIES,
    Judgement,
    consistent,
    judgements,
    ratings,
    unreadable,
    verdicts,
)
from kgbench.scores import catalogue
from kgbench.scores.inference import inference
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

METHOD = "resampled-cases"
ALL_JUDGES = "all judges"
NO_JUDGES = "No judge has judged these dialogues yet: run `kgbench judge`."


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


@analysis(
    "agreement",
    Purpose.JUDGES,
    reads=("judge-passes",),
    figure="kgbench.plots.judge_maps:AGREEMENT",
)
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
    biases: Annotated[
        bool, Option("Show the biases of judges: leniency, position, length, own family.")
    ] = False,
    declared: Declared = None,
    samples: Annotated[int, Option("Bootstrap samples.", min=1, panel="Tests")] = 2_000,
    seed: Annotated[int, Option("Seed of the bootstrap.", min=0, panel="Tests")] = 0,
) -> Table:
    """Measure the agreement of judges with executed outcomes and each other, or their biases.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.agreement())
    0
    """
    if not biases:
        return agreement_table(store, selection, by=by, samples=samples, seed=seed)
    if by is not JudgeGrouping.NOTHING:
        raise OptionRefused("by", "biases cover all items: leave out --by or --biases")
    from kgbench.analysis import judge_biases  # imports this module

    return judge_biases.biases(store, selection, declared=declared, samples=samples, seed=seed)


def agreement_table(
    store: Store,
    selection: Selection,
    *,
    by: JudgeGrouping = JudgeGrouping.NOTHING,
    samples: int = 2_000,
    seed: int = 0,
) -> Table:
    """Measure agreement: one row per rubric, judge and comparison, for each group of items.

    Each judge is compared with execution and with each other judge; three or more judges are also
    compared as a group. Intervals resample cases. A false alarm is an item with the highest value
    by execution and a lower one by the judge; a miss has a lower value by execution than by the
    judge. Their shares are of the items where they are possible.
    """
    all_judgements = judgements(verdicts(store, selection))
    models, tasks = catalogue.models(store), catalogue.tasks(store)
    lacking = unreadable(store, selection)
    rows: list[tuple[Value, ...]] = []
    for rubric, of_rubric in by_rubric(all_judgements):
        judges = judges_of(of_rubric, models)
        for group, items in sorted(grouped(of_rubric, by, tasks, models).items()):
            for raters in rater_sets(judges):
                row = _row(items, raters, samples, seed)
                if row is not None:
                    names = rater_names(raters, models)
                    no_verdict = lacking.get((rubric, raters[0])) if EXECUTION in raters else None
                    rows.append(
                        (
                            rubric,
                            *names,
                            None if by is JudgeGrouping.NOTHING else group,
                            *row,
                            no_verdict,
                        )
                    )
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


def rater_sets(judges: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the sets of raters to compare: judge and execution, two judges, all judges."""
    for judge in judges:
        yield judge, EXECUTION
    yield from combinations(judges, 2)
    # Adjudications are made with knowledge of the other verdicts.
    independent = [judge for judge in judges if judge != ADJUDICATION]
    if len(independent) > 2:  # noqa: PLR2004 - two are a pair
        yield tuple(independent)


def rater_names(raters: Sequence[str], models: catalogue.Models) -> tuple[str, str]:
    """Return the names that tables give to a rater and to the raters it is compared with."""
    if len(raters) > 2 or EXECUTION not in raters:  # noqa: PLR2004 - two are a pair
        names = [models.name(rater) for rater in raters]
        return (names[0], names[1]) if len(names) == 2 else (ALL_JUDGES, "each other")  # noqa: PLR2004
    return models.name(raters[0]), EXECUTION


def _row(
    items: Sequence[Judgement], raters: Sequence[str], samples: int, seed: int
) -> tuple[Value, ...] | None:
    """Return the values of a row; ``None`` where no item has two of the ratings."""
    table = ratings(items, raters)
    cases = [judgement.first.cluster for judgement in items]

    def estimated(coefficient: Coefficient) -> AgreementEstimate:
        return estimate(coefficient, table, cases, samples=samples, seed=seed)

    agreed = estimated(percent_agreement)
    if not agreed.items:
        return None
    kappa = estimated(cohen_kappa if len(raters) == 2 else fleiss_kappa)  # noqa: PLR2004 - a pair
    alarms, misses = _errors(items, raters[0]) if raters[1] == EXECUTION else (None, None)
    judges = [rater for rater in raters if rater != EXECUTION]
    pairs = [
        (judgement, judge) for judgement in items for judge in judges if _is_asked(judgement, judge)
    ]
    return (
        agreed.items,
        len({judgement.first.cluster for judgement in items}),
        *_with_interval(agreed),
        *_with_interval(kappa),
        krippendorff_alpha(table),
        gwet_ac1(table),
        alarms,
        misses,
        _share(judge not in judgement.by_judge for judgement, judge in pairs),
        _share(
            same for judgement, judge in pairs if (same := consistent(judgement, judge)) is not None
        ),
    )


def _is_asked(judgement: Judgement, judge: str) -> bool:
    return any(verdict.judge == judge for verdict in judgement.verdicts)


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


def _with_interval(agreed: AgreementEstimate) -> tuple[Value, Value, Value]:
    low, high = agreed.interval or (None, None)
    return agreed.value, low, high
