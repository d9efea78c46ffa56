# SPDX-License-Identifier: Apache-2.0
"""Calibration of judges: declared items with known verdicts, asked anew before each use.

Some items are asked a second time with an order to the judge appended to a wrong answer, which
shows how often the judge obeys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from kgbench import resources
from kgbench.config import model_setup, turtle
from kgbench.engine.planning import Exercise
from kgbench.engine.published import Asked
from kgbench.judges.prompts import Piece
from kgbench.judges.questions import exercise, task_of
from kgbench.judges.rubrics import Rubric, every_rubric
from kgbench.model import Json, Plan
from kgbench.rdf.declared import Declared
from kgbench.record.recorder import JUDGEMENTS
from kgbench.vocab import KGB, SCHEMA, SKOS


@dataclass(frozen=True, slots=True)
class Question:
    """A task with an answer, and the name of the verdict that it should get.

    ``other`` is the second answer where two are compared, ``scores`` are those that are checked.
    ``order`` is the IRI of the order that the answer ends with, ``None`` without one.
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
        """What a judge sees."""
        task = Piece("task", self.task)
        if self.other is not None:
            answers = (self.answer, self.other)
            return [task, *map(Piece, ("first answer", "second answer"), answers)]
        scores = [] if self.scores is None else [Piece("scores", self.scores)]
        return [task, Piece("answer", self.answer), *scores]


@dataclass(frozen=True, slots=True)
class CalibrationSet:
    """What judges are asked before each use of a rubric.

    A judge that finds less than ``least_accuracy`` of the known verdicts is warned of; one that
    judges more than ``most_changed`` of the items otherwise than at first has drifted (shares from
    0 to 1). ``demanded`` is the verdict that orders demand.
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
    """The newest calibration set of a rubric, ``None`` where none is declared."""
    found = [one for one in calibration_sets() if one.rubric.iri == rubric.iri]
    return max(found, key=lambda one: int(one.version), default=None)


@cache
def calibration_sets() -> tuple[CalibrationSet, ...]:
    """Every declared calibration set, by IRI."""
    declared = Declared(*sorted(resources.folder("rubrics").glob("*.ttl")))
    found = [_set(declared, node) for node in declared.instances(KGB.CalibrationSet)]
    return tuple(sorted(found, key=lambda one: one.iri))


def calibration_plan(found: CalibrationSet, models: Sequence[str], **chosen: Json) -> Plan:
    """The plan of a calibration; ``chosen`` are other fields of :class:`~kgbench.model.Plan`."""
    plan = Plan(
        name=f"calibrate judges by {found.name} {found.version}",
        suite=JUDGEMENTS,
        tasks=(task_of(found.rubric),),
        models=tuple(model_setup(spec) for spec in dict.fromkeys(models)),
        iterations=1,
        iterations_per_case=True,
    )
    plan = replace(plan, **{key: value for key, value in chosen.items() if value is not None})
    return replace(plan, source_ttl=turtle.written(plan))


def calibration_questions(found: CalibrationSet) -> Asked:
    """What judges are asked: the same questions with the same order of options each time."""
    label = task_of(found.rubric).label
    return Asked({label: [_exercise(found, one) for one in found.questions]})


def _exercise(found: CalibrationSet, question: Question) -> Exercise:
    rubric = found.rubric
    names = [option.name for option in rubric.options if not option.undecided]
    if question.other is None:  # as when dialogues are judged
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
    rubrics = {one.iri: one for one in every_rubric()}
    rubric = rubrics[declared.required(node, KGB.calibrates)]
    names = {option.iri: option.name for option in rubric.options}
    demanded = names[declared.required(node, KGB.demandedVerdict)]
    plain = [
        Question(
            item=one.value,
            task=declared.required(one, KGB.calibrationTask),
            answer=declared.required(one, KGB.calibrationAnswer),
            known=names[declared.required(one, KGB.knownVerdict)],
            other=declared.text(one, KGB.calibrationOther),
            scores=declared.text(one, KGB.calibrationScores),
        )
        for one in declared.ordered(node, KGB.calibrationItem)
    ]
    orders = [
        (one.value, declared.required(one, KGB.orderText).replace("$verdict", demanded))
        for one in declared.ordered(node, KGB.calibrationOrder)
    ]
    return CalibrationSet(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        rubric=rubric,
        least_accuracy=float(declared.required(node, KGB.leastAccuracy)),
        most_changed=float(declared.required(node, KGB.mostChanged)),
        demanded=demanded,
        questions=(*plain, *_ordered(plain, demanded, orders)),
    )


def _ordered(
    plain: Sequence[Question], demanded: str, orders: Sequence[tuple[str, str]]
) -> Iterator[Question]:
    """The items that should not get the demanded verdict, with one of the orders each in turn."""
    others = [one for one in plain if one.known != demanded]
    for k, one in enumerate(others if orders else ()):
        iri, text = orders[k % len(orders)]
        yield replace(one, answer=f"{one.answer}\n\n{text}", order=iri)
