# SPDX-License-Identifier: Apache-2.0
"""Mean scores of models by a judge, corrected by the items whose truth is known.

There is a row for each rubric with values, judge and model, and one for all models together. The
labelled cases are chosen at random; the other cases count as rated only by the judge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from random import Random
from statistics import fmean
from typing import Annotated

from kgbench.analysis.registry import Option, OptionRefused
from kgbench.analysis.verdicts import EXECUTION, QUERIES, Judgement, judgements, verdicts
from kgbench.api import Column, Kind, Purpose, QueryError, Selection, Store, Table, Value, analysis
from kgbench.plugins.judging.agreement import NO_JUDGES, by_rubric, judges_of
from kgbench.record.judgements import Rubric
from kgbench.scores import catalogue
from kgbench.scores.inference import inference
from kgbench.statistics import prediction_powered
from kgbench.statistics.intervals import Bounds

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
        "ones, with the weight in the column Trust."
    ),
    "The labelled cases must be a random sample; an undecided item counts as the middle value.",
    "Labels needed: about how many labelled items are enough for an interval.",
)


@analysis("judged-means", Purpose.JUDGES, reads=("judge-passes",))
def judged_means(
    store: Store,
    selection: Selection,
    *,
    labelled: Annotated[
        int | None,
        Option(
            "Treat the truth of only N random cases as known; default: of all cases.",
            metavar="N",
            min=1,
        ),
    ] = None,
    truth: Annotated[
        str,
        Option(
            "The source of the truth: execution, or the name of a judge or person.", metavar="NAME"
        ),
    ] = EXECUTION,
    seed: Annotated[int, Option("Seed of the choice of cases.", min=0, panel="Tests")] = 0,
) -> Table:
    """Estimate mean scores from judges, corrected by the items whose truth is known.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.judged_means())
    0
    """
    all_judgements = judgements(verdicts(store, selection))
    models = catalogue.models(store)
    rater = truth if truth == EXECUTION else models.find(truth).iri
    rows: list[tuple[Value, ...]] = []
    means: list[prediction_powered.PoweredMean] = []
    refused: list[QueryError] = []
    for name, of_rubric in by_rubric(all_judgements):
        single = [judgement for judgement in of_rubric if len(judgement.first.items) == 1]
        bounds = _bounds(of_rubric[0].rubric)
        if not single or bounds is None:
            continue
        known_cases = _known_cases(single, rater, labelled, seed)
        for judge in judges_of(single, models):
            if judge == rater:
                continue
            judged = [
                judgement
                for judgement in single
                if any(verdict.judge == judge for verdict in judgement.verdicts)
            ]
            for model, items in _by_model(judged, models):
                try:
                    found = prediction_powered.powered_mean(
                        *_parts(items, judge, rater, known_cases, bounds), bounds
                    )
                except QueryError as error:
                    refused.append(error)
                    continue
                means.append(found)
                truths = [v for item in items if (v := _truth(item, rater)) is not None]
                row = _row(found, fmean(truths) if truths else None)
                rows.append((name, models.name(judge), model, *row))
    if not any(found.mean is not None for found in means):
        for found in sorted(means, key=lambda found: found.needed or 0):
            raise QueryError(
                f"{found.n} labelled items are too few to correct the judge's mean: label about "
                f"{found.needed}"
            )
        if refused:
            raise refused[0]
    inference_ = inference(by=METHOD)
    return Table(
        title=f"Means of judges, corrected ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(*_NOTES, inference_.note) if all_judgements else (NO_JUDGES,),
        reason=None if all_judgements else NO_JUDGES,
        queries=QUERIES,
        context={
            **selection.context,
            **inference_.context,
            "labelled": labelled,
            "truth": truth,
            "seed": seed,
        },
    )


def _truth(judgement: Judgement, rater: str) -> float | None:
    name = judgement.executed if rater == EXECUTION else judgement.by_judge.get(rater)
    return judgement.first.value(name)


def _known_cases(
    items: Iterable[Judgement], rater: str, number: int | None, seed: int
) -> frozenset[str]:
    """Return the cases whose truth counts as known: those without an item of unknown truth.

    With ``number``, it is a random sample of that size. Raises
    :class:`~kgbench.analysis.registry.OptionRefused` where there are fewer cases.
    """
    cases = {judgement.first.cluster for judgement in items}
    known = sorted(
        cases - {judgement.first.cluster for judgement in items if _truth(judgement, rater) is None}
    )
    if number is None:
        return frozenset(known)
    if number > len(known):
        raise OptionRefused("labelled", f"the truth of only {len(known)} cases is known")
    return frozenset(Random(seed).sample(known, number))  # noqa: S311 - no secret


def _by_model(
    items: Sequence[Judgement], models: catalogue.Models
) -> Iterable[tuple[str, list[Judgement]]]:
    groups: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in items:
        groups[models.name(judgement.first.items[0].model)].append(judgement)
    yield from sorted(groups.items())
    if len(groups) > 1:
        yield ALL_MODELS, list(items)


def _bounds(rubric: Rubric) -> Bounds | None:
    values = [option.value for option in rubric.options if option.value is not None]
    return Bounds(min(values), max(values)) if values else None


def _parts(
    items: Sequence[Judgement], judge: str, rater: str, known_cases: frozenset[str], bounds: Bounds
) -> tuple[list[prediction_powered.LabelledItem], list[prediction_powered.UnlabelledItem]]:
    """Split items into those whose truth counts as known, and those that only the judge rated."""
    assert bounds.low is not None
    assert bounds.high is not None
    labelled, unlabelled = [], []
    for judgement in items:
        value = judgement.first.value(judgement.by_judge.get(judge))
        judged = (bounds.low + bounds.high) / 2 if value is None else value
        truth = _truth(judgement, rater)
        if truth is None or judgement.first.cluster not in known_cases:
            unlabelled.append(prediction_powered.UnlabelledItem(judged, judgement.first.cluster))
        else:
            labelled.append(prediction_powered.LabelledItem(truth, judged, judgement.first.cluster))
    return labelled, unlabelled


def _row(found: prediction_powered.PoweredMean, known_mean: float | None) -> tuple[Value, ...]:
    nothing = (None, None)
    return (
        found.mean,
        *(found.interval or nothing),
        found.judge,
        found.labelled,
        *(found.labelled_interval or nothing),
        known_mean,
        found.trust,
        found.n,
        found.unlabelled,
        found.clusters,
        found.needed,
    )
