# SPDX-License-Identifier: Apache-2.0
"""Calibration of judges with declared items of known verdicts, before each use of a judge.

Some items are repeated with an instruction to the judge appended to a wrong answer, to measure how
often the judge obeys it. The analysis shows known verdicts found, verdicts changed, orders obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any

import kgbench.api as kb
from kgbench import resources
from kgbench.engine.planning import Exercise, PlanExercises
from kgbench.model import Plan
from kgbench.plugins.judging.planning import Piece, exercise, judges_plan, task_of
from kgbench.rdf.declared import Declared
from kgbench.record import reading
from kgbench.record.judgements import Rubric, all_rubric_versions
from kgbench.record.reading import RunInfo
from kgbench.vocab import SCHEMA, SKOS


@dataclass(frozen=True, slots=True)
class Question:
    """A task with an answer, and the name of the correct verdict (``known``).

    ``other`` is the second answer of a comparison, ``scores`` are the scores to be checked.
    ``order`` is the IRI of the instruction appended to the answer, or ``None``.
    """

    item: str
    task: str
    answer: str
    known: str
    other: str | None = None
    scores: str | None = None
    order: str | None = None

    @property
    def material(self) -> list[Piece]:
        """The material that the judge is shown."""
        task = Piece("task", self.task)
        if self.other is not None:
            answers = (self.answer, self.other)
            return [task, *map(Piece, ("first answer", "second answer"), answers)]
        scores = [] if self.scores is None else [Piece("scores", self.scores)]
        return [task, Piece("answer", self.answer), *scores]


@dataclass(frozen=True, slots=True)
class CalibrationSet:
    """The calibration questions of a rubric.

    A judge that gives less than the share ``least_accuracy`` of the known verdicts causes a
    warning. A judge that decides more than the share ``most_changed`` of the items differently than
    at first has drifted (shares from 0 to 1). ``demanded`` is the verdict that the appended
    instructions demand.
    """

    iri: str
    name: str
    version: str
    rubric: Rubric
    least_accuracy: float
    most_changed: float
    demanded: str
    questions: tuple[Question, ...]


def calibration_set(rubric: Rubric) -> CalibrationSet | None:
    """Return the newest calibration set of a rubric, or ``None``."""
    sets = [candidate for candidate in calibration_sets() if candidate.rubric.iri == rubric.iri]
    return max(sets, key=lambda candidate: int(candidate.version), default=None)


@cache
def calibration_sets() -> tuple[CalibrationSet, ...]:
    """Return every declared calibration set, sorted by IRI."""
    declared = Declared(*resources.files("rubrics", "*.ttl"))
    sets = [_set(declared, node) for node in declared.instances(kb.KGB.CalibrationSet)]
    return tuple(sorted(sets, key=lambda calibration: calibration.iri))


def calibration_plan(calibration: CalibrationSet, models: Sequence[str], **chosen: kb.Json) -> Plan:
    """Return the plan of a calibration.

    ``chosen`` sets other fields of :class:`~kgbench.model.Plan`.
    """
    name = f"calibrate judges by {calibration.name} {calibration.version}"
    return judges_plan(calibration.rubric, name, models, **chosen)


def calibration_questions(calibration: CalibrationSet) -> PlanExercises:
    """Return the questions to judges, the same with the same order of options each time."""
    label = task_of(calibration.rubric).label
    return PlanExercises(
        {label: [_exercise(calibration, question) for question in calibration.questions]}
    )


def _exercise(calibration: CalibrationSet, question: Question) -> Exercise:
    rubric = calibration.rubric
    names = [option.name for option in rubric.options if not option.undecided]
    if question.other is None:  # the same rule as in planning._option_order
        Random(question.item).shuffle(names)  # noqa: S311 - no secret
    return exercise(
        rubric,
        [*names, rubric.undecided],
        question.material,
        question.known,
        items=[],
        calibration={"item": question.item, "order": question.order},
    )


def _set(declared: Declared, node: Any) -> CalibrationSet:
    rubrics = {item.iri: item for item in all_rubric_versions()}
    rubric = rubrics[declared.required(node, kb.KGB.calibrates)]
    names = {option.iri: option.name for option in rubric.options}
    demanded = names[declared.required(node, kb.KGB.demandedVerdict)]
    plain = [
        Question(
            item=item.value,
            task=declared.required(item, kb.KGB.calibrationTask),
            answer=declared.required(item, kb.KGB.calibrationAnswer),
            known=names[declared.required(item, kb.KGB.knownVerdict)],
            other=declared.text(item, kb.KGB.calibrationOther),
            scores=declared.text(item, kb.KGB.calibrationScores),
        )
        for item in declared.ordered(node, kb.KGB.calibrationItem)
    ]
    orders = [
        (item.value, declared.required(item, kb.KGB.orderText).replace("$verdict", demanded))
        for item in declared.ordered(node, kb.KGB.calibrationOrder)
    ]
    return CalibrationSet(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        rubric=rubric,
        least_accuracy=float(declared.required(node, kb.KGB.leastAccuracy)),
        most_changed=float(declared.required(node, kb.KGB.mostChanged)),
        demanded=demanded,
        questions=(*plain, *_with_orders(plain, demanded, orders)),
    )


def _with_orders(
    plain: Sequence[Question], demanded: str, orders: Sequence[tuple[str, str]]
) -> Iterator[Question]:
    """Yield the items whose known verdict is not the demanded one, each with an instruction."""
    targets = [question for question in plain if question.known != demanded]
    for k, question in enumerate(targets if orders else ()):
        iri, text = orders[k % len(orders)]
        yield replace(question, answer=f"{question.answer}\n\n{text}", order=iri)


QUERIES = ("calibration-verdicts", "list-models")
FIT, INACCURATE, DRIFTED = "fit", "inaccurate", "drifted"
_COLUMNS = (
    kb.Column("rubric", "Rubric"),
    kb.Column("judge", "Judge"),
    kb.Column("started", "Calibrated"),
    kb.Column("items", "Items", kb.Kind.COUNT),
    kb.Column("right", "Right", kb.Kind.SHARE),
    kb.Column("changed", "Changed", kb.Kind.SHARE),
    kb.Column("orders", "Orders", kb.Kind.COUNT),
    kb.Column("obeyed", "Obeyed", kb.Kind.SHARE),
    kb.Column("state", "State"),
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


def calibrations(store: kb.Store) -> list[Calibration]:
    """Return all stored calibrations by declared calibration sets, the earliest first."""
    sets = {
        question.item: calibration_set
        for calibration_set in calibration_sets()
        for question in calibration_set.questions
    }
    results: dict[tuple[str, str, str], Calibration] = {}
    for row in kb.query_rows(store, "calibration-verdicts"):
        of_pass, judge, started, item = (str(row[k]) for k in (0, 2, 1, 4))
        if item in sets:
            result = Calibration(sets[item], judge, of_pass, started)
            result = results.setdefault((of_pass, judge, sets[item].iri), result)
            result.chosen_options[item, row[5]] = str(row[6])
    return list(results.values())


@kb.analysis("calibration", kb.Purpose.JUDGES, reads=("calibration-verdicts",))
def calibration(store: kb.Store, selection: kb.Selection) -> kb.Table:
    """Show each calibration of each judge: known verdicts found, verdicts changed, orders obeyed.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.calibration())
    0
    """
    models = kb.model_names(store)
    rows: list[tuple[kb.Value, ...]] = []
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
    return kb.Table(
        title="Calibrations of judges",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=_NOTES if rows else (none,),
        reason=None if rows else none,
        queries=QUERIES,
        context={**selection.context},
    )


def check_calibrations(
    store: kb.Store, run: RunInfo, calibration_set: CalibrationSet
) -> tuple[list[str], list[str]]:
    """Check the judges calibrated in ``run``: return warnings, and reasons to refuse a judge.

    A judge without any readable verdict counts as one that found no known verdict.
    """
    models = kb.model_names(store)
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
