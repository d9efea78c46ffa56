# SPDX-License-Identifier: Apache-2.0
"""Biases of judges, measured where execution knows better.

A judge that errs both ways is stricter where more answers are right. Length and family are
therefore compared among answers of the same task with the same executed verdict. Intervals
resample cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from kgbench.analysis import scores as fetch
from kgbench.analysis.judge_agreement import NO_JUDGES
from kgbench.analysis.scaling import family_of, records
from kgbench.analysis.selection import Selection
from kgbench.analysis.stratified import (
    BOTH,
    Contrast,
    Observation,
    balanced_mean,
    difference,
)
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.verdicts import QUERIES, Decided, verdicts
from kgbench.store.protocol import Store

LENIENCY, LENGTH, POSITION, FAMILY = "leniency", "length", "position", "own family"
MEANINGS = {
    LENIENCY: "Leniency is the mean of the judge's values minus those of execution. So a judge "
    "that errs both ways is lenient where most answers are wrong.",
    POSITION: "Position is how much oftener the judge chooses the option, or the answer of a pair, "
    "that is shown first than it would by execution (a pair is shown in both orders, so that each "
    "of its answers is first as often).",
    LENGTH: "Length is the mean error about answers that are longer than the median of their task, "
    "minus that about the others with the same task and executed verdict, averaged over both; of "
    "pairs, how much oftener the longer answer wins than it would by execution, where the longer "
    "and the shorter answer are better equally often.",
    FAMILY: "Own family is the mean error about models of the judge's family minus that about "
    "others, of the same task and executed verdict; of pairs, how much oftener an answer of the "
    "family wins against another one than it would by execution, where either is better equally "
    "often. Families are those of the model records (--declared adds yours).",
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
    """One row per rubric, judge and bias; a bias that nothing can tell of has no row.

    ``declared`` are model records of one's own, which say what family a model is of.
    """
    known_truth = [one for one in verdicts(store, selection) if one.executed and not one.undecided]
    models = fetch.models(store)
    known = records(declared)
    family = {iri: family_of(info.id, known) for iri, info in models.items()}
    grouped: dict[tuple[str, str], list[Decided]] = defaultdict(list)
    for one in known_truth:
        grouped[one.rubric.name, one.judge].append(one)
    rows: list[tuple[Value, ...]] = []
    for (rubric, judge), given in sorted(grouped.items()):
        for bias, found in measured(given, family, samples=samples, seed=seed).items():
            low, high = found.interval or (None, None)
            counts = (found.inside, found.outside, found.clusters)
            rows.append((rubric, models.name(judge), bias, found.value, low, high, *counts))
    return Table(
        title=f"Biases of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=tuple(MEANINGS[b] for b in MEANINGS if any(row[2] == b for row in rows))
        or (NO_JUDGES,),
        queries=QUERIES,
        context={**selection.context, "samples": samples, "seed": seed},
    )


def measured(
    given: Sequence[Decided], family: Mapping[str, str], *, samples: int = 2_000, seed: int = 0
) -> dict[str, Contrast]:
    """The biases of one judge by one rubric, of verdicts whose executed outcome is known.

    ``family`` names the family of each model and judge (by IRI). A bias that the verdicts cannot
    show is absent.
    """
    often: dict[str, int] = {"samples": samples, "seed": seed}
    singles = [one for one in given if len(one.items) == 1]
    if singles:
        valued = [(one, error) for one in singles if (error := _error(one)) is not None]
        long = _longer([one for one, _ in valued])
        own = family.get(singles[0].judge)
        found = {
            LENIENCY: balanced_mean([_of_both(error, one) for one, error in valued], **often),
            POSITION: balanced_mean(list(_of_options(singles)), **often),
            LENGTH: difference(
                [
                    _beside(one, error, inside)
                    for (one, error), inside in zip(valued, long, strict=True)
                ],
                **often,
            ),
            FAMILY: difference(
                [
                    _beside(one, error, family[one.items[0].model] == own)
                    for one, error in valued
                    if one.items[0].model in family
                ],
                **often,
            ),
        }
    else:
        found = {
            POSITION: balanced_mean([_won(one, 0, opposed=False) for one in given], **often),
            LENGTH: balanced_mean(
                [
                    _won(one, int(one.items[1].characters > one.items[0].characters))
                    for one in given
                    if one.items[0].characters != one.items[1].characters
                ],
                **often,
            ),
            FAMILY: balanced_mean(list(_of_families(given, family)), **often),
        }
    return {bias: contrast for bias, contrast in found.items() if contrast is not None}


def _of_both(value: float, one: Decided) -> Observation:
    return Observation(value, one.cluster, inside=BOTH)


def _beside(one: Decided, error: float, inside: bool) -> Observation:
    """An error among those about answers of the same task with the same executed verdict."""
    return Observation(error, one.cluster, (one.items[0].task, one.executed), float(inside))


def _error(one: Decided) -> float | None:
    said, truth = one.value(one.chosen), one.value(one.executed)
    return None if said is None or truth is None else said - truth


def _of_options(singles: Iterable[Decided]) -> Iterator[Observation]:
    """1 where the option shown first is chosen wrongly, -1 where it is wrongly not chosen."""
    for one in singles:
        if len(set(one.order)) > 1:
            first = one.order[0]
            yield _of_both(float(one.chosen == first) - float(one.executed == first), one)


def _longer(singles: Sequence[Decided]) -> list[bool]:
    lengths: dict[str, list[int]] = defaultdict(list)
    for one in singles:
        lengths[one.items[0].task].append(one.items[0].characters)
    middle = {task: median(of_task) for task, of_task in lengths.items()}
    return [one.items[0].characters > middle[one.items[0].task] for one in singles]


def _won(one: Decided, place: int, *, opposed: bool = True) -> Observation:
    """How much more of a win the answer at a place has by the judge than by execution.

    A judge that errs by chance lets the better answer win too rarely. With ``opposed``, pairs in
    which the answer is the better one balance those in which it is the worse one.
    """
    by_execution = _win(one.executed, place)
    error = _win(one.chosen, place) - by_execution
    if not opposed:
        return _of_both(error, one)
    return Observation(error, one.cluster, by_execution == BOTH, by_execution)


def _win(name: str | None, place: int) -> float:
    return {"first": 1.0 - place, "second": float(place)}.get(name or "", 0.5)


def _of_families(pairs: Iterable[Decided], family: Mapping[str, str]) -> Iterator[Observation]:
    for one in pairs:
        own = [family.get(item.model) == family.get(one.judge) for item in one.items]
        if own[0] != own[1]:
            yield _won(one, own.index(True))
