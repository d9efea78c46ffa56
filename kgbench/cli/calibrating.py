# SPDX-License-Identifier: Apache-2.0
"""Calibrates judges before `kgbench judge` asks them, and refuses those that have drifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.engine import Progress
    from kgbench.judges.rubrics import Rubric
    from kgbench.store.protocol import Store


class Calibrate(StrEnum):
    """What becomes of judges that have drifted."""

    REFUSE = "refuse"
    WARN = "warn"
    NO = "no"


def calibrated(
    store: Store,
    rubric: Rubric,
    models: Sequence[str],
    how: Calibrate,
    chosen: Mapping[str, Any],
) -> bool:
    """Ask judges the calibration set of a rubric, if one is declared, and say what it shows.

    ``chosen`` are other fields of the plan. ``False`` where the calibration did not finish. Raises
    :class:`~kgbench.errors.JudgeRefused` for a judge that has drifted, unless ``how`` only warns.
    """
    import asyncio  # 20 ms, which no other command needs

    from kgbench.analysis.calibrations import checked, refuse
    from kgbench.cli.run import hold
    from kgbench.engine import Settings
    from kgbench.judges.calibration import (
        calibration_plan,
        calibration_questions,
        calibration_set,
    )
    from kgbench.record import reading

    wanted = None if how is Calibrate.NO else calibration_set(rubric)
    if wanted is None:
        return True
    plan = calibration_plan(wanted, models, **chosen)
    asked = calibration_questions(wanted)
    done: Progress = asyncio.run(hold(store, plan, Settings(), quiet=True, given=asked))
    if not done.finished:
        left = count(done.planned - done.complete, "answer")
        why = "; ".join(done.failures) or done.limit or "interrupted"
        typer.echo(f"The calibration lacks {left}: {why}", err=True)
        return False
    warnings, refusals = checked(store, reading.find_run(store, done.run), wanted)
    if how is Calibrate.REFUSE:
        refuse(refusals)
    for line in (*warnings, *refusals):
        typer.echo(f"warning: {line}", err=True)
    return True


def needs_asking(store: Store, graph: str | None, planned: int) -> bool:
    """Whether a run of judges lacks any of the ``planned`` dialogues; ``None`` is a new run."""
    from kgbench.rdf import queries

    if graph is None:
        return True
    rows = queries.rows(store, "dialogue-counts", runGraph=graph)
    return sum(int(number or 0) for *_, number in rows) < planned
