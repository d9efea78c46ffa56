# SPDX-License-Identifier: Apache-2.0
"""Runs of judges over runs of models, for tests of judges."""

from __future__ import annotations

from kgbench.engine import planning
from kgbench.plugins.judging.planning import JudgingRequest, judging_plan, judging_questions
from kgbench.record import reading
from kgbench.record.judgements import rubric
from tests.support.runs import hold, planned

LABELS = ["RdfFriendCount-turtle-1", "RdfConnectionExplainStatic-nt"]


def judged_run(store, *specs, iterations=4, labels=None):
    """Return a finished run of models on small tasks."""
    fields = {"max_retries": 1, "call_timeout": 60.0}
    plan = planned(labels or LABELS, *specs, iterations=iterations, **fields)
    hold(store, plan)
    return reading.find_run(store, plan.name)


def ask(store, of, name, *specs, **chosen):
    """Run judges with the rubric ``name`` on the run ``of``."""
    judging = JudgingRequest(rubric(name), **chosen)
    plan = judging_plan(of, judging, list(specs), call_timeout=60.0)
    return hold(store, plan, questions=judging_questions(store, of, judging))


def exercises(store, of, name, **chosen):
    """Return the questions to judges, with the cases."""
    (found,) = judging_questions(
        store, of, JudgingRequest(rubric(name), **chosen)
    ).exercises.values()
    return found


def references(*labels, iterations=4):
    """Return the right answer to each prompt of some tasks."""
    from kgbench.tasks import catalogue

    plan = planned(labels, iterations=iterations)
    return {
        one.prompt: catalogue.module(one.task.task_class).reference(one.case)
        for asked in planning.exercises(plan).values()
        for one in asked
    }
