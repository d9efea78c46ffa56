# SPDX-License-Identifier: Apache-2.0
"""Panels: the verdicts of several judges as one, by a declared rule.

A judge may favour models of its own family. So the verdicts on each model are aggregated three
times: of all judges, of those of other families, and of those of the model's family.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kgbench.analysis import scores as fetch
from kgbench.analysis.judge_agreement import NO_JUDGES
from kgbench.analysis.scaling import family_of, records
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.verdicts import (
    ADJUDICATION,
    QUERIES,
    Judgement,
    is_person,
    judgements,
    own_verdict,
    verdicts,
)
from kgbench.judges.aggregation import Rule, Settled, Why, rule
from kgbench.store.protocol import Store

ALL, OTHERS, OWN, PEOPLE = "all", "other families", "own family", "people"
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


def panels(
    store: Store, selection: Selection, *, by_rule: str, declared: Path | None = None
) -> Table:
    """One row per rubric, judged model and kind of members, by the rule called ``by_rule``.

    ``declared`` are model records of one's own, which say what family a model is of. Raises
    :class:`~kgbench.errors.TaskError` for a rule that is not declared.
    """
    chosen = rule(by_rule)
    models = fetch.models(store)
    known = records(declared)
    family = {iri: family_of(info.id, known) for iri, info in models.items()}
    grouped: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for one in judgements(verdicts(store, selection)):
        for model in (EVERY_MODEL, *sorted({models.name(item.model) for item in one.first.items})):
            grouped[one.rubric.name, model].append(one)
    rows: list[tuple[Value, ...]] = []
    for (rubric, model), items in sorted(grouped.items(), key=_order):
        kinds = [ALL, PEOPLE] if model == EVERY_MODEL else [ALL, OTHERS, OWN, PEOPLE]
        for members in kinds:
            row = _row(items, chosen, _members(members, family))
            if row is not None:
                rows.append((rubric, chosen.name, model, members, *row))
    return Table(
        title=f"Panels of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(f"{chosen.label}: {chosen.definition}", *_NOTES) if rows else (NO_JUDGES,),
        queries=QUERIES,
        context={**selection.context, "rule": chosen.name, "ruleIri": chosen.iri},
    )


_NOTES = (
    (
        "Shares are of the items that one of the judges has a verdict on. Value is the mean of "
        "the values of decided items; beside it stands the mean that execution implies for those "
        "of them where it implies one (compared)."
    ),
    (
        "Families are those of the model records (--declared adds yours). A row 'own family' "
        "stands where a judge is of the judged model's family; people are a panel of their own, "
        "without adjudications."
    ),
)

Included = Callable[[str, Judgement], bool]


def _members(kind: str, family: Mapping[str, str]) -> Included:
    def own(judge: str, one: Judgement) -> bool:
        mine = family.get(judge)
        return mine is not None and any(family.get(i.model) == mine for i in one.first.items)

    if kind == PEOPLE:
        return lambda judge, _: is_person(judge) and judge != ADJUDICATION
    if kind == ALL:
        return lambda judge, _: not is_person(judge)
    if kind == OWN:
        return own
    return lambda judge, one: not is_person(judge) and not own(judge, one)


def _row(items: Sequence[Judgement], chosen: Rule, included: Included) -> tuple[Value, ...] | None:
    """The values of a row; ``None`` where no judge of this kind has a verdict."""
    judges: set[str] = set()
    settled: list[tuple[Judgement, Settled]] = []
    unanimous = 0
    for one in items:
        votes = {judge: vote for judge, vote in _votes(one) if included(judge, one)}
        if votes:
            judges |= votes.keys()
            unanimous += len(set(votes.values())) == 1
            settled.append((one, chosen.settled(list(votes.values()), one.rubric)))
    if not settled:
        return None
    why = Counter(each.why for _, each in settled)
    n = len(settled)
    decided = [(one, each.option) for one, each in settled if each.option is not None]
    compared = [(option, one.executed) for one, option in decided if one.executed is not None]
    values = [v for one, option in decided if (v := one.first.value(option)) is not None]
    truths = [v for one, _ in decided if (v := one.first.value(one.executed)) is not None]
    return (
        len(judges),
        n,
        len(decided) / n,
        *(why[each] / n for each in (Why.TIE, Why.SHARE, Why.CANNOT_TELL, Why.FEW)),
        unanimous / n,
        _mean(values),
        _mean(truths),
        len(compared),
        _mean([float(said == truth) for said, truth in compared]),
    )


def _votes(one: Judgement) -> Iterator[tuple[str, str]]:
    """The verdict of each judge, "cannot tell" included; none of a judge whose samples tie."""
    for judge in sorted({given.judge for given in one.given}):
        vote = own_verdict(one, judge)
        if vote is not None:
            yield judge, vote


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _order(entry: tuple[tuple[str, str], object]) -> tuple[str, bool, str]:
    (rubric, model), _ = entry
    return rubric, model != EVERY_MODEL, model
