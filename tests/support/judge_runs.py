# SPDX-License-Identifier: Apache-2.0
"""Runs of judges over runs of models, for tests of judges."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from kgbench import config
from kgbench.engine import Settings, planning, run_plan, run_to_continue
from kgbench.judges.planning import JudgingRequest, judging_plan, judging_questions
from kgbench.judges.rubrics import rubric
from kgbench.record import reading

LABELS = ["RdfFriendCount-turtle-1", "RdfConnectionExplainStatic-nt"]


def judged_run(store, *specs, iterations=4, labels=None):
    """Return a finished run of models on small tasks."""
    plan = config.quick_start(tasks=labels or LABELS, models=list(specs), iterations=iterations)
    run(store, replace(plan, max_retries=1, call_timeout=60.0))
    return reading.find_run(store, plan.name)


def run(store, plan, given=None):
    """Run or continue a plan, with short waits between retries."""
    settings = Settings(run=run_to_continue(store, plan), patience_scale=0.01, executor="local:1")
    return asyncio.run(run_plan(store, plan, settings, plan_exercises=given))


def ask(store, of, name, *specs, **chosen):
    """Run judges with the rubric ``name`` on the run ``of``."""
    judging = JudgingRequest(rubric(name), **chosen)
    plan = judging_plan(of, judging, list(specs), call_timeout=60.0)
    return run(store, plan, judging_questions(store, of, judging))


def exercises(store, of, name, **chosen):
    """Return the questions to judges, with the cases."""
    (found,) = judging_questions(
        store, of, JudgingRequest(rubric(name), **chosen)
    ).exercises.values()
    return found


def references(*labels, iterations=4):
    """Return the right answer to each prompt of some tasks."""
    from kgbench.tasks import catalogue

    plan = config.quick_start(tasks=list(labels), iterations=iterations)
    return {
        one.prompt: catalogue.module(one.task.task_class).reference(one.case)
        for asked in planning.exercises(plan).values()
        for one in asked
    }
