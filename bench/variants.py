# SPDX-License-Identifier: Apache-2.0
"""Judging answers on variants of their graphs, compared with judging them once.

Two baseline models answer our own questions with queries. All answers of one model are right, and
about half of the other's; only right ones are executed on variants.
"""

from __future__ import annotations

import asyncio

from bench.harness import Result, Timing, measure
from kgbench import config
from kgbench.engine import Settings, run_plan
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.on_variants import Variants
from kgbench.execution.pools import executor
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.store import open_store
from kgbench.store.protocol import Store

ANSWERS = 250
VARIANTS = 10
TASKS = ("Text2SparqlExecEvalListCoypuMini", "Text2SparqlExecEvalListOrganizational")
MODELS = ("baseline:oracle", "baseline:noisy?rate=0.5&seed=1")


def run() -> list[Result]:
    """Return seconds for judging once and on variants, and their ratio."""
    each = ANSWERS // len(TASKS) // len(MODELS) + 1
    plan = config.quick_start(tasks=list(TASKS), models=list(MODELS), iterations=each)
    with open_store("memory:") as store:
        asyncio.run(run_plan(store, plan, Settings(executor="local")))
        once = _timed(store, None)
        many = _timed(store, Variants(VARIANTS, 1))
    what = f"judging {ANSWERS} answers"
    note = f"medians of {len(many.seconds)}, spread {many.spread:.0%}, children included"
    return [
        Result(f"{what} once", once.median, "s"),
        Result(f"{what} on {VARIANTS} variants", many.median, "s"),
        Result(
            f"{what} on {VARIANTS} variants",
            many.median / once.median,
            "x",
            against="once",
            goal="at most 4",
            note=note,
        ),
    ]


def _timed(store: Store, variants: Variants | None) -> Timing:
    def judge() -> None:
        with executor("local") as pool:
            reevaluate_stored(store, pool, JudgeLimits(policy="rows"), variants=variants)

    return measure(judge)
