# SPDX-License-Identifier: Apache-2.0
"""Questions to judges: the prompt, and the case that records it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kgbench.config import model_setup, turtle
from kgbench.engine.planning import Exercise
from kgbench.model import Json, Plan, Task
from kgbench.rdf import digest
from kgbench.record.judgements import Rubric
from kgbench.record.recorder import JUDGEMENTS
from kgbench.tasks import catalogue

TASK_CLASS = "JudgeVerdict"

_DIGITS = 16  # of the mark, a digest of the material, which the material itself cannot contain


class Piece(NamedTuple):
    """A text that a judge is shown, with a title."""

    title: str
    text: str


def prompt(rubric: Rubric, order: Sequence[str], material: Sequence[Piece]) -> str:
    """Return the message to a judge; ``order`` has the names of the options in their order.

    Lines with a mark, a digest of all the material, delimit each piece, so that no text can end its
    own piece or begin another one.
    """
    texts = [part for piece in material for part in piece]
    mark = f"=== {digest(chr(0).join(texts))[:_DIGITS]}"
    marked = [f"{mark} {piece.title}\n{piece.text}" for piece in material]
    return rubric.prompt(order, mark, "\n".join([*marked, f"{mark} end"]))


def task_of(rubric: Rubric) -> Task:
    """Return the task of judging by a rubric."""
    parameters = {"rubric": rubric.name, "rubricVersion": rubric.version}
    return catalogue.make_task(TASK_CLASS, f"{TASK_CLASS}-{rubric.name}", parameters)


def judges_plan(rubric: Rubric, name: str, models: Sequence[str], **chosen: Json) -> Plan:
    """Return the plan of a run of judges called ``name``.

    ``chosen`` sets other fields of :class:`~kgbench.model.Plan`, if they are not ``None``. Raises
    :class:`~kgbench.errors.ModelSpecError` for an unknown model.
    """
    plan = Plan(
        name=name,
        suite=JUDGEMENTS,
        tasks=(task_of(rubric),),
        models=tuple(model_setup(spec) for spec in dict.fromkeys(models)),
        iterations=1,
        iterations_per_case=True,
    )
    plan = replace(plan, **{field: value for field, value in chosen.items() if value is not None})
    return replace(plan, source_ttl=turtle.plan_to_turtle(plan))


def exercise(
    rubric: Rubric,
    order: Sequence[str],
    material: Sequence[Piece],
    known: str | None,
    *,
    counted_alone: bool = False,
    **about: Json,
) -> Exercise:
    """Build the question for a verdict on ``material``, with the options in ``order``.

    ``known`` is the name of the correct or implied verdict, if any; ``about`` are further fields of
    the case that identify the judged items. ``counted_alone`` is passed to
    :class:`~kgbench.engine.planning.Exercise`.
    """
    task = task_of(rubric)
    text = prompt(rubric, order, material)
    data: dict[str, Json] = {
        "rubric": rubric.iri,
        "order": list(order),
        "options": {option.name: option.iri for option in rubric.options},
        "values": {o.name: o.value for o in rubric.options if o.value is not None},
        "undecided": rubric.undecided,
        "executed": known,
        **about,
        "prompt": digest(text),
    }
    case = catalogue.make_case(JUDGEMENTS, TASK_CLASS, task.parameters, data)
    return Exercise(task, case, text, digest(text), counted_alone=counted_alone)
