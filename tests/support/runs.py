# SPDX-License-Identifier: Apache-2.0
"""Small plans, and the runs that hold them, with one shared judge and short waits."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from kgbench import config
from kgbench.engine import Settings, StopSignal, run_plan, run_to_continue
from kgbench.record import reading


class Stop(StopSignal):
    """A signal to stop a run of :func:`hold` that any thread can give, such as a server's."""

    def soon(self):
        """Request a stop in the event loop of the run."""
        self.loop.call_soon_threadsafe(self.request)


def planned(tasks, *models, iterations=None, **changed):
    """Return the plan of models on a task or on several, with changed fields."""
    tasks = [tasks] if isinstance(tasks, str) else list(tasks)
    plan = config.quick_start(tasks=tasks, models=list(models), iterations=iterations)
    return replace(plan, **changed)


def hold(store, plan, *, stop=None, watch=None, questions=None, **settings):
    """Run or continue a plan, and return its progress; ``settings`` replace those of tests.

    ``questions`` are the exercises, if they are not those of the plan's tasks.
    """
    usual = {"run": run_to_continue(store, plan), "executor": "local:1", "patience_scale": 0.005}
    chosen = Settings(**{**usual, **settings})
    stop = stop or Stop()

    async def session():
        stop.loop = asyncio.get_running_loop()
        return await run_plan(store, plan, chosen, stop=stop, watch=watch, plan_exercises=questions)

    return asyncio.run(session())


def dialogues_of(store, run):
    """Return all dialogues of a run."""
    return [
        dialogue
        for execution in reading.executions(store, run.graph)
        for dialogue in reading.execution_dialogues(store, run.graph, execution, run.iri)
    ]
