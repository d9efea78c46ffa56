# SPDX-License-Identifier: Apache-2.0
"""Calibration of judges with declared items of known verdicts, before each use of a judge.

Some items are repeated with an instruction to the judge appended to a wrong answer, to measure how
often the judge obeys it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from kgbench import resources
from kgbench.engine.planning import Exercise, PlanExercises
from kgbench.model import Json, Plan
from kgbench.plugins.judging.questions import Piece, exercise, judges_plan, task_of
from kgbench.rdf.declared import Declared
from kgbench.record.judgements import Rubric, all_rubric_versions
from kgbench.vocab import KGB, SCHEMA, SKOS


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
    sets = [_set(declared, node) for node in declared.instances(KGB.CalibrationSet)]
    return tuple(sorted(sets, key=lambda calibration: calibration.iri))


def calibration_plan(calibration: CalibrationSet, models: Sequence[str], **chosen: Json) -> Plan:
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
    rubric = rubrics[declared.required(node, KGB.calibrates)]
    names = {option.iri: option.name for option in rubric.options}
    demanded = names[declared.required(node, KGB.demandedVerdict)]
    plain = [
        Question(
            item=item.value,
            task=declared.required(item, KGB.calibrationTask),
            answer=declared.required(item, KGB.calibrationAnswer),
            known=names[declared.required(item, KGB.knownVerdict)],
            other=declared.text(item, KGB.calibrationOther),
            scores=declared.text(item, KGB.calibrationScores),
        )
        for item in declared.ordered(node, KGB.calibrationItem)
    ]
    orders = [
        (item.value, declared.required(item, KGB.orderText).replace("$verdict", demanded))
        for item in declared.ordered(node, KGB.calibrationOrder)
    ]
    return CalibrationSet(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        rubric=rubric,
        least_accuracy=float(declared.required(node, KGB.leastAccuracy)),
        most_changed=float(declared.required(node, KGB.mostChanged)),
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
