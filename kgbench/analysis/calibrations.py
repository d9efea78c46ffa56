# SPDX-License-Identifier: Apache-2.0
"""Calibrations of judges: known verdicts found, verdicts changed, and orders obeyed.

An order is an instruction inside a wrong answer that tells the judge to call the answer right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import JudgeRefused
from kgbench.judges.calibration import CalibrationSet, Question, calibration_sets
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store

QUERIES = ("calibration-verdicts", "list-models")
FIT, INACCURATE, DRIFTED = "fit", "inaccurate", "drifted"
_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("judge", "Judge"),
    Column("started", "Calibrated"),
    Column("items", "Items", Kind.COUNT),
    Column("right", "Right", Kind.SHARE),
    Column("changed", "Changed", Kind.SHARE),
    Column("orders", "Orders", Kind.COUNT),
    Column("obeyed", "Obeyed", Kind.SHARE),
    Column("state", "State"),
)
_NOTES = (
    (
        "Right is the share of items without an order that got their known verdict. Changed is the "
        "share of all items that got another verdict than in the judge's first calibration, a "
        "missing one included."
    ),
    (
        "Orders counts wrong answers that order the judge to call them right, and whose plain "
        "version the judge called wrong. Obeyed is the share of these that it called right."
    ),
)


@dataclass(frozen=True)
class Calibration:
    """One calibration of a judge; ``said`` has the chosen option (IRI) by item and order.

    ``of_pass`` is the IRI of the graph of its evaluation pass.
    """

    calibrated: CalibrationSet
    judge: str
    of_pass: str
    started: str
    said: Mapping[tuple[str, str | None], str] = field(default_factory=dict)

    def verdict(self, question: Question) -> str | None:
        """Return the name of the verdict on a question, ``None`` without a readable verdict."""
        names = {option.iri: option.name for option in self.calibrated.rubric.options}
        return names.get(self.said.get((question.item, question.order), ""))

    @property
    def plain(self) -> list[Question]:
        """The questions without orders."""
        return [one for one in self.calibrated.questions if one.order is None]

    @property
    def right(self) -> float:
        """The share of the plain questions that got their known verdict, from 0 to 1."""
        return _share([self.verdict(one) == one.known for one in self.plain])

    def changed(self, first: Calibration) -> float:
        """Return the share of all questions that got another verdict than in ``first``."""
        asked = self.calibrated.questions
        return _share([self.verdict(one) != first.verdict(one) for one in asked])

    @property
    def obeyed(self) -> list[bool]:
        """Whether each order that could succeed was obeyed.

        Orders are left out where the judge gave the demanded verdict on the plain answer, too, or
        no verdict on it.
        """
        demanded = self.calibrated.demanded
        plain = {one.item: self.verdict(one) for one in self.plain}
        return [
            self.verdict(one) == demanded
            for one in self.calibrated.questions
            if one.order is not None and plain[one.item] not in (demanded, None)
        ]

    def state(self, first: Calibration) -> str:
        """Return whether the judge is fit for use, inaccurate, or has drifted since ``first``.

        The result is :data:`FIT`, :data:`INACCURATE` or :data:`DRIFTED`.
        """
        if self.changed(first) > self.calibrated.most_changed:
            return DRIFTED
        return FIT if self.right >= self.calibrated.least_accuracy else INACCURATE


def calibrations(store: Store) -> list[Calibration]:
    """Return all stored calibrations by declared calibration sets, the earliest first."""
    sets = {question.item: one for one in calibration_sets() for question in one.questions}
    found: dict[tuple[str, str, str], Calibration] = {}
    said: dict[tuple[str, str, str], dict[tuple[str, str | None], str]] = {}
    for row in queries.rows(store, "calibration-verdicts"):
        of_pass, started, judge, _, item, order, chosen, _ = row
        if item not in sets:
            continue
        key = (str(of_pass), str(judge), sets[item].iri)
        given = said.setdefault(key, {})
        given[item, order] = str(chosen)
        found.setdefault(
            key, Calibration(sets[item], str(judge), str(of_pass), str(started), given)
        )
    return list(found.values())


def calibration(store: Store, selection: Selection) -> Table:
    """Tabulate the calibrations: one row per rubric, judge and calibration, the earliest first."""
    models = fetch.models(store)
    rows: list[tuple[Value, ...]] = []
    every = [one for one in calibrations(store) if models.fits(one.judge, selection.models)]
    for one in sorted(every, key=lambda each: (each.calibrated.iri, models.name(each.judge))):
        first = _first(every, one)
        obeyed = one.obeyed
        rows.append(
            (
                one.calibrated.rubric.name,
                models.name(one.judge),
                one.started,
                len(one.plain),
                one.right,
                one.changed(first),
                len(obeyed),
                _share(obeyed) if obeyed else None,
                one.state(first),
            )
        )
    none = "No judge has been calibrated: `kgbench judge` does it before it judges."
    return Table(
        title="Calibrations of judges",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=_NOTES if rows else (none,),
        queries=QUERIES,
        context={**selection.context},
    )


def checked(store: Store, run: RunInfo, wanted: CalibrationSet) -> tuple[list[str], list[str]]:
    """Check the judges calibrated in ``run``: return warnings, and reasons to refuse a judge.

    A judge without any readable verdict counts as one that found no known verdict.
    """
    models = fetch.models(store)
    every = [one for one in calibrations(store) if one.calibrated.iri == wanted.iri]
    of_pass = reading.passes(store, run)[0].graph
    by_judge = {one.judge: one for one in every if one.of_pass == of_pass}
    warnings, refusals = [], []
    for judge in sorted({one.model for one in reading.executions(store, run.graph)}):
        one = by_judge.get(judge) or Calibration(wanted, judge, of_pass, "")
        first = _first(every, one)
        state = one.state(first)
        if state == DRIFTED:
            refusals.append(
                f"{models.name(judge)} has drifted: {one.changed(first):.0%} of its verdicts on "
                f"the calibration items differ from those of {first.started[:10]} (at most "
                f"{wanted.most_changed:.0%} may change)"
            )
        elif state == INACCURATE:
            warnings.append(
                f"{models.name(judge)} finds {one.right:.0%} of the known verdicts of the "
                f"calibration set, less than the required {wanted.least_accuracy:.0%}"
            )
        if any(one.obeyed):
            warnings.append(
                f"{models.name(judge)} obeys {sum(one.obeyed)} of {len(one.obeyed)} orders in "
                f"wrong answers"
            )
    return warnings, refusals


def refuse(reasons: Sequence[str]) -> None:
    """Raise :class:`~kgbench.errors.JudgeRefused` if there are any reasons."""
    if reasons:
        raise JudgeRefused(
            f"{'; '.join(reasons)}. Verdicts would not be comparable with earlier ones: "
            "`--calibrate warn` judges anyway"
        )


def _first(every: Sequence[Calibration], one: Calibration) -> Calibration:
    """Return the first calibration of the same judge by the same calibration set."""
    return next(
        (
            each
            for each in every
            if (each.judge, each.calibrated.iri) == (one.judge, one.calibrated.iri)
        ),
        one,
    )


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)
