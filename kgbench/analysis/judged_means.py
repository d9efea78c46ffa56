# SPDX-License-Identifier: Apache-2.0
"""Means of judged models by a judge, corrected by the part of the items whose truth is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from statistics import fmean

from kgbench.analysis import scores as fetch
from kgbench.analysis.inference import inference
from kgbench.analysis.intervals import Bounds
from kgbench.analysis.judge_agreement import NO_JUDGES
from kgbench.analysis.judge_groups import by_rubric, judges_of
from kgbench.analysis.prediction_powered import (
    Judged,
    Labelled,
    PoweredMean,
    TooFewLabels,
    powered_mean,
)
from kgbench.analysis.registry import OptionRefused
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.verdicts import EXECUTION, QUERIES, Judgement, judgements, verdicts
from kgbench.errors import QueryError
from kgbench.judges.rubrics import Rubric
from kgbench.store.protocol import Store

METHOD = "prediction-powered"
ALL_MODELS = "All models"
_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("judge", "Judge"),
    Column("model", "Model"),
    Column("mean", "Corrected", Kind.SCORE),
    Column("low", "from", Kind.SCORE),
    Column("high", "to", Kind.SCORE),
    Column("judge_mean", "Judge alone", Kind.SCORE),
    Column("labelled_mean", "Labels alone", Kind.SCORE),
    Column("labelled_low", "from", Kind.SCORE),
    Column("labelled_high", "to", Kind.SCORE),
    Column("known_mean", "All known", Kind.SCORE),
    Column("trust", "Trust", Kind.SHARE),
    Column("labelled", "Labelled", Kind.COUNT),
    Column("unlabelled", "Only judged", Kind.COUNT),
    Column("clusters", "Cases", Kind.COUNT),
    Column("needed", "Labels needed", Kind.COUNT),
)
_NOTES = (
    (
        "Corrected is the judge's mean over all items, corrected by its error on the labelled "
        "part; judge alone is that mean as it is, labels alone the mean of the labelled part. "
        "Trust is the weight of the judge (0 to 1). All known is the mean of every truth that the "
        "store has."
    ),
    (
        "The labelled cases must be a random part of all. What a judge cannot decide counts as "
        "the middle of the rubric's values. Items without any verdict of the judge are left out."
    ),
    (
        "Where labels needed has a number, the labelled part is too small for an interval, and "
        "about so many labelled items would do."
    ),
)


def judged_means(
    store: Store,
    selection: Selection,
    *,
    labelled: int | None = None,
    truth: str = EXECUTION,
    seed: int = 0,
) -> Table:
    """One row per rubric with values, judge and judged model, and one for all models together.

    ``truth`` names what counts as true: executed outcomes, or the verdicts of a judge or person
    (name, id or IRI). ``labelled`` takes the truth of only so many cases for known, chosen at
    random by ``seed``; the others are as if only the judge had seen them. Values are from 0 to 1.

    Raises :class:`~kgbench.errors.QueryError` where no row has enough labels, with the number
    needed, and where nothing is left that only the judge has rated.
    """
    found = judgements(verdicts(store, selection))
    models = fetch.models(store)
    rater = truth if truth == EXECUTION else models.find(truth).iri
    rows: list[tuple[Value, ...]] = []
    refused: list[QueryError] = []
    for name, of_rubric in by_rubric(found):
        rubric = of_rubric[0].rubric
        single = [one for one in of_rubric if len(one.first.items) == 1]
        if not single or not any(option.value is not None for option in rubric.options):
            continue
        kept = _known_cases(single, rater, labelled, seed)
        for judge in judges_of(single, models):
            if judge == rater:
                continue
            asked = [one for one in single if any(given.judge == judge for given in one.given)]
            for model, items in _by_model(asked, models):
                parts = _parts(items, judge, rater, kept)
                try:
                    row = _corrected(powered_mean(*parts, _bounds(rubric)), _known(items, rater))
                except TooFewLabels as error:
                    refused.append(error)
                    row = _refused(*parts, _known(items, rater), error.needed)
                except QueryError as error:
                    refused.append(error)
                    continue
                rows.append((name, models.name(judge), model, *row))
    if refused and not any(row[3] is not None for row in rows):
        raise min(refused, key=_wanting)
    how = inference(by=METHOD)
    return Table(
        title=f"Means of judges, corrected ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(*_NOTES, how.note) if found else (NO_JUDGES,),
        queries=QUERIES,
        context={
            **selection.context,
            **how.context,
            "labelled": labelled,
            "truth": truth,
            "seed": seed,
        },
    )


def _wanting(error: QueryError) -> float:
    return error.needed if isinstance(error, TooFewLabels) else float("inf")


def _true(one: Judgement, rater: str) -> float | None:
    name = one.executed if rater == EXECUTION else one.by_judge.get(rater)
    return one.first.value(name)


def _known_cases(
    items: Iterable[Judgement], rater: str, number: int | None, seed: int
) -> frozenset[str]:
    """The cases whose truth counts as known: those of whose items none is unknown.

    Raises :class:`~kgbench.analysis.registry.OptionRefused` where there are fewer than wanted.
    """
    cases = {one.first.cluster for one in items}
    known = sorted(cases - {one.first.cluster for one in items if _true(one, rater) is None})
    if number is None:
        return frozenset(known)
    if number > len(known):
        raise OptionRefused("labelled", f"the truth of only {len(known)} cases is known")
    return frozenset(Random(seed).sample(known, number))  # noqa: S311 - no secret


def _by_model(
    items: Sequence[Judgement], models: fetch.Models
) -> Iterable[tuple[str, list[Judgement]]]:
    names = sorted({models.name(one.first.items[0].model) for one in items})
    for name in names:
        yield name, [one for one in items if models.name(one.first.items[0].model) == name]
    if len(names) > 1:
        yield ALL_MODELS, list(items)


def _bounds(rubric: Rubric) -> Bounds:
    values = [option.value for option in rubric.options if option.value is not None]
    return Bounds(min(values), max(values))


def _parts(
    items: Sequence[Judgement], judge: str, rater: str, kept: frozenset[str]
) -> tuple[list[Labelled], list[Judged]]:
    """Items whose truth counts as known, and items that only the judge has rated."""
    low, high = _bounds(items[0].rubric)
    assert low is not None
    assert high is not None
    known, others = [], []
    for one in items:
        said = one.first.value(one.by_judge.get(judge))
        judged = (low + high) / 2 if said is None else said
        true = _true(one, rater)
        if true is None or one.first.cluster not in kept:
            others.append(Judged(judged, one.first.cluster))
        else:
            known.append(Labelled(true, judged, one.first.cluster))
    return known, others


def _known(items: Iterable[Judgement], rater: str) -> float | None:
    """The mean of all truths, also of those that do not count as known."""
    return _mean(value for one in items if (value := _true(one, rater)) is not None)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return fmean(listed) if listed else None


def _corrected(found: PoweredMean, every: float | None) -> tuple[Value, ...]:
    return (
        found.mean,
        *found.interval,
        found.judge,
        found.labelled,
        *found.labelled_interval,
        every,
        found.trust,
        found.n,
        found.unlabelled,
        found.clusters,
        None,
    )


def _refused(
    known: Sequence[Labelled], others: Sequence[Judged], every: float | None, needed: int
) -> tuple[Value, ...]:
    """A row that says how many labels its mean would need."""
    judge = _mean([*(one.judged for one in known), *(one.judged for one in others)])
    labels = _mean(one.value for one in known)
    cases = len({one.cluster for one in known})
    none = (None, None)
    return (None, *none, judge, labels, *none, every, None, len(known), len(others), cases, needed)
