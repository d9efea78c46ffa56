# SPDX-License-Identifier: Apache-2.0
"""How far judges agree with executed outcomes and with each other, in all and by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from kgbench.analysis import scores as fetch
from kgbench.analysis.inference import inference
from kgbench.analysis.judge_analyses import By
from kgbench.analysis.judge_groups import by_rubric, grouped, judges_of
from kgbench.analysis.rater_agreement import (
    Agreed,
    Coefficient,
    cohen_kappa,
    estimate,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
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
from kgbench.store.protocol import Store

METHOD = "resampled-cases"
ALL_JUDGES = "all judges"
NO_JUDGES = "No judge was asked about these dialogues: `kgbench judge` asks one."


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


def agreement(
    store: Store,
    selection: Selection,
    *,
    by: By = By.NOTHING,
    samples: int = 2_000,
    seed: int = 0,
) -> Table:
    """One row per rubric, judge and what it is held against, for each group of items.

    Judges are held against executed outcomes and each against each other; from three judges on,
    all of them against each other. Intervals resample cases. A false alarm is an item that
    execution gives the highest value and the judge a lower one; a miss is one that execution gives
    a lower value than the judge. Their shares are of the items where they are possible.
    """
    found = judgements(verdicts(store, selection))
    models, tasks = fetch.models(store), fetch.tasks(store)
    lacking = unreadable(store, selection)
    rows: list[tuple[Value, ...]] = []
    for rubric, of_rubric in by_rubric(found):
        judges = judges_of(of_rubric, models)
        for group, items in sorted(grouped(of_rubric, by, tasks, models).items()):
            for raters in rater_sets(judges):
                row = _row(items, raters, samples, seed)
                if row is not None:
                    named = rater_names(raters, models)
                    lost = lacking.get((rubric, raters[0])) if EXECUTION in raters else None
                    rows.append((rubric, *named, None if by is By.NOTHING else group, *row, lost))
    how = inference(by=METHOD)
    return Table(
        title=f"Agreement of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(*_NOTES, how.note) if found else (NO_JUDGES,),
        queries=QUERIES,
        context={
            **selection.context,
            **how.context,
            "by": str(by),
            "samples": samples,
            "seed": seed,
        },
    )


_NOTES = (
    (
        "Agreement is the share of items on which both say the same. Kappa is Cohen's, of all "
        "judges Fleiss'; alpha is Krippendorff's (nominal), AC1 Gwet's."
    ),
    (
        "Execution is the verdict that the main metric implies in the pass that judged first. A "
        "false alarm is an item with the best value by execution and a lower one by the judge; a "
        "miss is one with a lower value by execution than by the judge. Shares are of the items "
        "where they can be."
    ),
    (
        "Undecided are items about which the judge cannot tell, or its repeated samples tie. No "
        "verdict: the share of all answers of the judge that do not end with a verdict."
    ),
)


def rater_sets(judges: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Who is held against whom: each judge and execution, each two judges, all from three on."""
    for judge in judges:
        yield judge, EXECUTION
    yield from combinations(judges, 2)
    independent = [judge for judge in judges if judge != ADJUDICATION]  # made knowing the others
    if len(independent) > 2:  # noqa: PLR2004 - two are a pair
        yield tuple(independent)


def rater_names(raters: Sequence[str], models: fetch.Models) -> tuple[str, str]:
    """How tables call a rater and what it is held against."""
    if len(raters) > 2 or EXECUTION not in raters:  # noqa: PLR2004 - two are a pair
        names = [models.name(rater) for rater in raters]
        return (names[0], names[1]) if len(names) == 2 else (ALL_JUDGES, "each other")  # noqa: PLR2004
    return models.name(raters[0]), EXECUTION


def _row(
    items: Sequence[Judgement], raters: Sequence[str], samples: int, seed: int
) -> tuple[Value, ...] | None:
    """The values of a row; ``None`` where no item has two of the ratings."""
    table = ratings(items, raters)
    cases = [one.first.cluster for one in items]

    def held(coefficient: Coefficient, often: int = samples) -> Agreed:
        return estimate(coefficient, table, cases, samples=often, seed=seed)

    agreed = held(percent_agreement)
    if not agreed.items:
        return None
    kappa = held(cohen_kappa if len(raters) == 2 else fleiss_kappa)  # noqa: PLR2004 - a pair
    alarms, misses = _errors(items, raters[0]) if raters[1] == EXECUTION else (None, None)
    judges = [rater for rater in raters if rater != EXECUTION]
    asked = [(one, judge) for one in items for judge in judges if _asked(one, judge)]
    return (
        agreed.items,
        len({one.first.cluster for one in items}),
        *_with_interval(agreed),
        *_with_interval(kappa),
        krippendorff_alpha(table),
        gwet_ac1(table),
        alarms,
        misses,
        _share(judge not in one.by_judge for one, judge in asked),
        _share(same for one, judge in asked if (same := consistent(one, judge)) is not None),
    )


def _asked(judgement: Judgement, judge: str) -> bool:
    return any(one.judge == judge for one in judgement.given)


def _errors(items: Iterable[Judgement], judge: str) -> tuple[float | None, float | None]:
    """The shares of false alarms and of misses; ``None`` where the rubric has no values."""
    alarms, misses = [], []
    for one in items:
        said = one.first.value(one.by_judge.get(judge))
        truth = one.first.value(one.executed)
        if said is None or truth is None or len(one.first.items) > 1:
            continue
        if truth == 1:
            alarms.append(said < truth)
        else:
            misses.append(said > truth)
    return _share(alarms), _share(misses)


def _share(values: Iterable[bool]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _with_interval(agreed: Agreed) -> tuple[Value, Value, Value]:
    low, high = agreed.interval or (None, None)
    return agreed.value, low, high
