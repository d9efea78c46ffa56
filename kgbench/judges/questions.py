# SPDX-License-Identifier: Apache-2.0
"""Questions to judges: the prompt, and the case that records it."""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.engine.planning import Exercise
from kgbench.judges.prompts import Piece, prompt
from kgbench.judges.rubrics import Rubric
from kgbench.model import Json, Task
from kgbench.rdf import digest
from kgbench.record.recorder import JUDGEMENTS
from kgbench.tasks import catalogue
from kgbench.tasks.judge_verdict import NAME


def task_of(rubric: Rubric) -> Task:
    """Return the task of judging by a rubric."""
    parameters = {"rubric": rubric.name, "rubricVersion": rubric.version}
    return catalogue.make_task(NAME, f"{NAME}-{rubric.name}", parameters)


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
    text = prompt(rubric, list(order), list(material))
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
    case = catalogue.make_case(JUDGEMENTS, NAME, task.parameters, data)
    return Exercise(task, case, text, digest(text), counted_alone=counted_alone)
