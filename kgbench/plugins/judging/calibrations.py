# SPDX-License-Identifier: Apache-2.0
"""Calibrations of judges: known verdicts found, verdicts changed, and orders obeyed.

An order is an instruction inside a wrong answer that tells the judge to call the answer right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kgbench.analysis.registry import Purpose, analysis
from kgbench.plugins.judging.calibration import CalibrationSet, Question, calibration_sets
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.scores import catalogue
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

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
        "Right is the share of items without an order that got their known verdict, and changed "
        "the share of all items whose verdict is not that of the judge's first calibration."
    ),
    (
        "Orders are wrong answers that tell the judge to call them right, and that it calls wrong "
        "without the order; obeyed is the share of these that it then called right."
    ),
)


@dataclass(frozen=True)
class Calibration:
    """One calibration of a judge; ``chosen_options`` has IRIs by item and order.

    ``of_pass`` is the IRI of the graph of its evaluation pass.
    """

    calibrated: CalibrationSet
    judge: str
    of_pass: str
    started: str
    chosen_options: dict[tuple[str, str | None], str] = field(default_factory=dict)

    def verdict(self, question: Question) -> str | None:
        """Return the name of the verdict on a question, ``None`` without a readable verdict."""
        names = {option.iri: option.name for option in self.calibrated.rubric.options}
        return names.get(self.chosen_options.get((question.item, question.order), ""))

    @property
    def plain(self) -> list[Question]:
        """The questions without orders."""
        return [question for question in self.calibrated.questions if question.order is None]

    @property
    def right(self) -> float:
        """The share of the plain questions that got their known verdict, from 0 to 1."""
        return _share([self.verdict(question) == question.known for question in self.plain])

    def changed(self, first: Calibration) -> float:
        """Return the share of all questions that got another verdict than in ``first``."""
        questions = self.calibrated.questions
        return _share([self.verdict(question) != first.verdict(question) for question in questions])

    @property
    def obeyed(self) -> list[bool]:
        """Whether each order that could succeed was obeyed.

        Orders are left out where the judge gave the demanded verdict on the plain answer, too, or
        no verdict on it.
        """
        demanded = self.calibrated.demanded
        plain = {question.item: self.verdict(question) for question in self.plain}
        return [
            self.verdict(question) == demanded
            for question in self.calibrated.questions
            if question.order is not None and plain[question.item] not in (demanded, None)
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
    sets = {
        question.item: calibration_set
        for calibration_set in calibration_sets()
        for question in calibration_set.questions
    }
    results: dict[tuple[str, str, str], Calibration] = {}
    for row in queries.rows(store, "calibration-verdicts"):
        of_pass, judge, started, item = (str(row[k]) for k in (0, 2, 1, 4))
        if item in sets:
            result = Calibration(sets[item], judge, of_pass, started)
            result = results.setdefault((of_pass, judge, sets[item].iri), result)
            result.chosen_options[item, row[5]] = str(row[6])
    return list(results.values())


@analysis("calibration", Purpose.JUDGES, reads=("calibration-verdicts",))
def calibration(store: Store, selection: Selection) -> Table:
    """Show each calibration of each judge: known verdicts found, verdicts changed, orders obeyed.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.calibration())
    0
    """
    models = catalogue.models(store)
    rows: list[tuple[Value, ...]] = []
    results = [
        result for result in calibrations(store) if models.fits(result.judge, selection.models)
    ]
    for result in sorted(results, key=lambda each: (each.calibrated.iri, models.name(each.judge))):
        first = _first(results, result)
        obeyed = result.obeyed
        rows.append(
            (
                result.calibrated.rubric.name,
                models.name(result.judge),
                result.started,
                len(result.plain),
                result.right,
                result.changed(first),
                len(obeyed),
                _share(obeyed) if obeyed else None,
                result.state(first),
            )
        )
    none = "No judge has been calibrated yet: `kgbench judge` calibrates before it judges."
    return Table(
        title="Calibrations of judges",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=_NOTES if rows else (none,),
        reason=None if rows else none,
        queries=QUERIES,
        context={**selection.context},
    )


def check_calibrations(
    store: Store, run: RunInfo, calibration_set: CalibrationSet
) -> tuple[list[str], list[str]]:
    """Check the judges calibrated in ``run``: return warnings, and reasons to refuse a judge.

    A judge without any readable verdict counts as one that found no known verdict.
    """
    models = catalogue.models(store)
    results = [
        result for result in calibrations(store) if result.calibrated.iri == calibration_set.iri
    ]
    of_pass = reading.passes(store, run)[0].graph
    by_judge = {result.judge: result for result in results if result.of_pass == of_pass}
    warnings, refusals = [], []
    for judge in sorted({execution.model for execution in reading.executions(store, run.graph)}):
        result = by_judge.get(judge) or Calibration(calibration_set, judge, of_pass, "")
        first = _first(results, result)
        state = result.state(first)
        if state == DRIFTED:
            refusals.append(
                f"{models.name(judge)} has drifted: {result.changed(first):.0%} of its verdicts "
                f"on the calibration items differ from those of {first.started[:10]} (at most "
                f"{calibration_set.most_changed:.0%} may change)"
            )
        elif state == INACCURATE:
            warnings.append(
                f"{models.name(judge)} finds {result.right:.0%} of the known verdicts of the "
                f"calibration set, less than the required {calibration_set.least_accuracy:.0%}"
            )
        if any(result.obeyed):
            warnings.append(
                f"{models.name(judge)} obeys {sum(result.obeyed)} of {len(result.obeyed)} orders "
                f"in wrong answers"
            )
    return warnings, refusals


def _first(results: Sequence[Calibration], result: Calibration) -> Calibration:
    """Return the first calibration of the same judge by the same calibration set."""
    return next(
        (
            candidate
            for candidate in results
            if (candidate.judge, candidate.calibrated.iri) == (result.judge, result.calibrated.iri)
        ),
        result,
    )


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)
