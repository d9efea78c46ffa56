# SPDX-License-Identifier: Apache-2.0
"""Panels: aggregation of the verdicts of several judges, or of people, by a declared rule."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from kgbench.analysis.judge_agreement import NO_JUDGES
from kgbench.analysis.registry import Option, Purpose, analysis
from kgbench.analysis.verdicts import (
    ADJUDICATION,
    QUERIES,
    Judgement,
    is_person,
    judgements,
    own_verdict,
    verdicts,
)
from kgbench.judges.aggregation import AggregatedVerdict, NoVerdictReason, Rule
from kgbench.judges.aggregation import rule as find_rule
from kgbench.scores import catalogue
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

ALL, PEOPLE = "all", "people"
EVERY_MODEL = "all models"
_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("rule", "Rule"),
    Column("model", "Judged model"),
    Column("members", "Judges of"),
    Column("judges", "Judges", Kind.COUNT),
    Column("items", "Items", Kind.COUNT),
    Column("decided", "Decided", Kind.SHARE),
    Column("ties", "Ties", Kind.SHARE),
    Column("no_majority", "Too small a share", Kind.SHARE),
    Column("cannot_tell", "Cannot tell", Kind.SHARE),
    Column("few", "Too few verdicts", Kind.SHARE),
    Column("unanimous", "Unanimous", Kind.SHARE),
    Column("value", "Value", Kind.SCORE),
    Column("executed", "By execution", Kind.SCORE),
    Column("compared", "Compared", Kind.COUNT),
    Column("agreement", "Agreement with execution", Kind.SHARE),
)


@analysis("panels", Purpose.JUDGES, reads=("judge-passes",))
def panels(
    store: Store,
    selection: Selection,
    *,
    rule: Annotated[str, Option("The declared rule of aggregation.", metavar="NAME")] = "majority",
) -> Table:
    """Combine the verdicts of several judges by a declared rule.

    >>> results = kgbench.open("kgbench-results")
    >>> results.panels().rows
    ()
    """
    chosen = find_rule(rule)
    models = catalogue.models(store)
    grouped: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for judgement in judgements(verdicts(store, selection)):
        for model in (
            EVERY_MODEL,
            *sorted({models.name(item.model) for item in judgement.first.items}),
        ):
            grouped[judgement.rubric.name, model].append(judgement)
    rows: list[tuple[Value, ...]] = []
    for (rubric, model), items in sorted(grouped.items(), key=_order):
        for members, included in _MEMBERS.items():
            row = _row(items, chosen, included)
            if row is not None:
                rows.append((rubric, chosen.name, model, members, *row))
    return Table(
        title=f"Panels of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(f"{chosen.label}: {chosen.definition}", *_NOTES) if rows else (NO_JUDGES,),
        reason=None if rows else NO_JUDGES,
        queries=QUERIES,
        context={**selection.context, "rule": chosen.name, "ruleIri": chosen.iri},
    )


_NOTES = (
    (
        "Shares are of the items on which a judge has a verdict; value is the mean over decided "
        "items, by execution the mean of those with an executed verdict."
    ),
    "People form a separate panel, without adjudications.",
)

Included = Callable[[str], bool]
_MEMBERS: dict[str, Included] = {
    ALL: lambda judge: not is_person(judge),
    PEOPLE: lambda judge: is_person(judge) and judge != ADJUDICATION,
}


def _row(items: Sequence[Judgement], chosen: Rule, included: Included) -> tuple[Value, ...] | None:
    """Return the values of a row; ``None`` where no judge of this kind has a verdict."""
    judges: set[str] = set()
    settled: list[tuple[Judgement, AggregatedVerdict]] = []
    unanimous = 0
    for judgement in items:
        votes = {judge: vote for judge, vote in _votes(judgement) if included(judge)}
        if votes:
            judges |= votes.keys()
            unanimous += len(set(votes.values())) == 1
            settled.append((judgement, chosen.combine(list(votes.values()), judgement.rubric)))
    if not settled:
        return None
    reasons = Counter(result.reason for _, result in settled)
    n = len(settled)
    decided = [
        (judgement, result.option) for judgement, result in settled if result.option is not None
    ]
    compared = [
        (option, judgement.executed)
        for judgement, option in decided
        if judgement.executed is not None
    ]
    values = [
        v for judgement, option in decided if (v := judgement.first.value(option)) is not None
    ]
    truths = [
        v
        for judgement, _ in decided
        if (v := judgement.first.value(judgement.executed)) is not None
    ]
    return (
        len(judges),
        n,
        len(decided) / n,
        *(
            reasons[reason] / n
            for reason in (
                NoVerdictReason.TIE,
                NoVerdictReason.SHARE,
                NoVerdictReason.CANNOT_TELL,
                NoVerdictReason.FEW,
            )
        ),
        unanimous / n,
        _mean(values),
        _mean(truths),
        len(compared),
        _mean([float(verdict == truth) for verdict, truth in compared]),
    )


def _votes(judgement: Judgement) -> Iterator[tuple[str, str]]:
    """Yield the verdict of each judge, including "cannot tell"; none if its samples tie."""
    for judge in sorted({verdict.judge for verdict in judgement.verdicts}):
        vote = own_verdict(judgement, judge)
        if vote is not None:
            yield judge, vote


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _order(entry: tuple[tuple[str, str], object]) -> tuple[str, bool, str]:
    (rubric, model), _ = entry
    return rubric, model != EVERY_MODEL, model
