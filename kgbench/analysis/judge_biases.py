# SPDX-License-Identifier: Apache-2.0
"""Biases of judges, measured on items with an executed verdict.

A judge that errs in both directions looks stricter where more answers are right. Length and family
are therefore compared among answers of the same task with the same executed verdict. Intervals
resample cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from kgbench.analysis.judge_agreement import NO_JUDGES
from kgbench.analysis.stratified import (
    BOTH,
    Contrast,
    Observation,
    balanced_mean,
    difference,
)
from kgbench.analysis.verdicts import QUERIES, JudgeVerdict, verdicts
from kgbench.scores import catalogue
from kgbench.scores.catalogue import family_of, records
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

LENIENCY, LENGTH, POSITION, FAMILY = "leniency", "length", "position", "own family"
MEANINGS = {
    LENIENCY: "Leniency is the mean of the judge's values minus those of execution.",
    POSITION: "Position is how much more often the judge chooses what is shown first than "
    "execution would.",
    LENGTH: "Length is the judge's mean error on long answers minus that on short ones; of pairs, "
    "how much more often the longer answer wins than by execution.",
    FAMILY: "Own family is the judge's mean error on models of its family minus that on others; of "
    "pairs, how much more often an answer of its family wins than by execution.",
}
_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("judge", "Judge"),
    Column("bias", "Bias"),
    Column("value", "Value", Kind.SCORE),
    Column("low", "from", Kind.SCORE),
    Column("high", "to", Kind.SCORE),
    Column("n", "n", Kind.COUNT),
    Column("compared", "Compared with", Kind.COUNT),
    Column("clusters", "Cases", Kind.COUNT),
)


def biases(
    store: Store,
    selection: Selection,
    *,
    declared: Path | None = None,
    samples: int = 2_000,
    seed: int = 0,
) -> Table:
    """Tabulate biases: one row per rubric, judge and bias that the verdicts can show.

    ``declared`` is a file with the user's own model records, which give the families of models.
    """
    with_truth = [
        verdict
        for verdict in verdicts(store, selection)
        if verdict.executed and not verdict.undecided
    ]
    models = catalogue.models(store)
    model_records = records(declared)
    family = {iri: family_of(info.id, model_records) for iri, info in models.items()}
    grouped: dict[tuple[str, str], list[JudgeVerdict]] = defaultdict(list)
    for verdict in with_truth:
        grouped[verdict.rubric.name, verdict.judge].append(verdict)
    rows: list[tuple[Value, ...]] = []
    for (rubric, judge), of_judge in sorted(grouped.items()):
        for bias, contrast in measured(of_judge, family, samples=samples, seed=seed).items():
            low, high = contrast.interval or (None, None)
            counts = (contrast.inside, contrast.outside, contrast.clusters)
            rows.append((rubric, models.name(judge), bias, contrast.value, low, high, *counts))
    return Table(
        title=f"Biases of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=tuple(MEANINGS[b] for b in MEANINGS if any(row[2] == b for row in rows))
        or (NO_JUDGES,),
        reason=None if rows else NO_JUDGES,
        queries=QUERIES,
        context={**selection.context, "samples": samples, "seed": seed},
    )


def measured(
    decided: Sequence[JudgeVerdict],
    family: Mapping[str, str],
    *,
    samples: int = 2_000,
    seed: int = 0,
) -> dict[str, Contrast]:
    """Measure the biases of one judge by one rubric from verdicts with a known executed outcome.

    ``family`` has the family of each model and judge (by IRI). Biases that the verdicts cannot
    show are absent from the result.
    """
    resampling: dict[str, int] = {"samples": samples, "seed": seed}
    singles = [verdict for verdict in decided if len(verdict.items) == 1]
    if singles:
        valued = [(verdict, error) for verdict in singles if (error := _error(verdict)) is not None]
        long = _longer([verdict for verdict, _ in valued])
        judge_family = family.get(singles[0].judge)
        contrasts = {
            LENIENCY: balanced_mean(
                [_in_both_groups(error, verdict) for verdict, error in valued], **resampling
            ),
            POSITION: balanced_mean(list(_position_errors(singles)), **resampling),
            LENGTH: difference(
                [
                    _in_stratum(verdict, error, inside)
                    for (verdict, error), inside in zip(valued, long, strict=True)
                ],
                **resampling,
            ),
            FAMILY: difference(
                [
                    _in_stratum(verdict, error, family[verdict.items[0].model] == judge_family)
                    for verdict, error in valued
                    if verdict.items[0].model in family
                ],
                **resampling,
            ),
        }
    else:
        contrasts = {
            POSITION: balanced_mean(
                [_excess_of_wins(verdict, 0, opposed=False) for verdict in decided], **resampling
            ),
            LENGTH: balanced_mean(
                [
                    _excess_of_wins(
                        verdict, int(verdict.items[1].characters > verdict.items[0].characters)
                    )
                    for verdict in decided
                    if verdict.items[0].characters != verdict.items[1].characters
                ],
                **resampling,
            ),
            FAMILY: balanced_mean(list(_family_errors(decided, family)), **resampling),
        }
    return {bias: contrast for bias, contrast in contrasts.items() if contrast is not None}


def _in_both_groups(value: float, verdict: JudgeVerdict) -> Observation:
    return Observation(value, verdict.cluster, inside=BOTH)


def _in_stratum(verdict: JudgeVerdict, error: float, inside: bool) -> Observation:
    """Return an error in the stratum of answers of the same task with the same executed verdict."""
    return Observation(
        error, verdict.cluster, (verdict.items[0].task, verdict.executed), float(inside)
    )


def _error(verdict: JudgeVerdict) -> float | None:
    value, truth = verdict.value(verdict.chosen), verdict.value(verdict.executed)
    return None if value is None or truth is None else value - truth


def _position_errors(singles: Iterable[JudgeVerdict]) -> Iterator[Observation]:
    """Yield 1 where the option shown first is wrongly chosen, -1 where wrongly not, else 0."""
    for verdict in singles:
        if len(set(verdict.order)) > 1:
            first = verdict.order[0]
            yield _in_both_groups(
                float(verdict.chosen == first) - float(verdict.executed == first), verdict
            )


def _longer(singles: Sequence[JudgeVerdict]) -> list[bool]:
    lengths: dict[str, list[int]] = defaultdict(list)
    for verdict in singles:
        lengths[verdict.items[0].task].append(verdict.items[0].characters)
    middle = {task: median(of_task) for task, of_task in lengths.items()}
    return [verdict.items[0].characters > middle[verdict.items[0].task] for verdict in singles]


def _excess_of_wins(verdict: JudgeVerdict, position: int, *, opposed: bool = True) -> Observation:
    """Return by how much the judge favours the answer at a position (0 or 1) over execution.

    A judge that errs by chance lets the better answer win too rarely. With ``opposed``, pairs in
    which the answer is the better one balance those in which it is the worse one.
    """
    by_execution = _win(verdict.executed, position)
    error = _win(verdict.chosen, position) - by_execution
    if not opposed:
        return _in_both_groups(error, verdict)
    return Observation(error, verdict.cluster, by_execution == BOTH, by_execution)


def _win(name: str | None, position: int) -> float:
    return {"first": 1.0 - position, "second": float(position)}.get(name or "", 0.5)


def _family_errors(
    pairs: Iterable[JudgeVerdict], family: Mapping[str, str]
) -> Iterator[Observation]:
    for verdict in pairs:
        same_family = [
            family.get(item.model) == family.get(verdict.judge) for item in verdict.items
        ]
        if same_family[0] != same_family[1]:
            yield _excess_of_wins(verdict, same_family.index(True))
