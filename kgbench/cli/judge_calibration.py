# SPDX-License-Identifier: Apache-2.0
"""Calibration of judges before ``kgbench judge``; refuses judges that have drifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from kgbench.cli.messages import count

if TYPE_CHECKING:
    from kgbench.engine import Progress
    from kgbench.judges.rubrics import Rubric
    from kgbench.store.protocol import Store


class Calibrate(StrEnum):
    """How to treat judges that have drifted."""

    REFUSE = "refuse"
    WARN = "warn"
    NO = "no"


def calibrate_judges(
    store: Store,
    rubric: Rubric,
    models: Sequence[str],
    policy: Calibrate,
    plan_fields: Mapping[str, Any],
) -> bool:
    """Run the calibration set of a rubric, if it has one, and print warnings.

    ``plan_fields`` are other fields of the plan. Returns whether the calibration finished. Raises
    :class:`~kgbench.errors.JudgeRefused` for a judge that has drifted, unless ``policy`` only
    warns.
    """
    import asyncio  # takes 20 ms, which most commands do not need

    from kgbench.analysis.calibrations import check_calibrations, raise_refusal
    from kgbench.cli.run import run_with_progress
    from kgbench.engine import Settings
    from kgbench.judges.calibration import (
        calibration_plan,
        calibration_questions,
        calibration_set,
    )
    from kgbench.record import reading

    calibration = None if policy is Calibrate.NO else calibration_set(rubric)
    if calibration is None:
        return True
    plan = calibration_plan(calibration, models, **plan_fields)
    exercises = calibration_questions(calibration)
    progress: Progress = asyncio.run(
        run_with_progress(store, plan, Settings(), quiet=True, plan_exercises=exercises)
    )
    if not progress.finished:
        missing = count(progress.planned - progress.complete, "answer")
        reason = "; ".join(progress.failures) or progress.limit or "interrupted"
        typer.echo(f"The calibration is incomplete, {missing} missing: {reason}", err=True)
        return False
    warnings, refusals = check_calibrations(
        store, reading.find_run(store, progress.run), calibration
    )
    if policy is Calibrate.REFUSE:
        raise_refusal(refusals)
    for line in (*warnings, *refusals):
        typer.echo(f"warning: {line}", err=True)
    return True


def needs_asking(store: Store, graph: str | None, planned: int) -> bool:
    """Return whether a run of judges lacks any of its ``planned`` dialogues.

    ``graph`` is the run's graph, or ``None`` for a new run.
    """
    from kgbench.rdf import queries

    if graph is None:
        return True
    rows = queries.rows(store, "dialogue-counts", runGraph=graph)
    return sum(int(number or 0) for *_, number in rows) < planned
