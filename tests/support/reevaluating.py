# SPDX-License-Identifier: Apache-2.0
"""The re-evaluation of a single run, for tests."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from kgbench.execution.judging import JudgeLimits
from kgbench.record.reading import RunInfo
from kgbench.reevaluation.comparison import ReevaluationResult
from kgbench.reevaluation.passes import reevaluate_each
from kgbench.store.protocol import Store


def reevaluate(
    store: Store, run: RunInfo, pool: Executor, limits: JudgeLimits, **options: Any
) -> ReevaluationResult:
    """Judge the complete dialogues of one run again, and compare with its first pass."""
    (done,) = reevaluate_each(store, [(run, None)], pool, limits, **options)
    return done
