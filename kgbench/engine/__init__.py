# SPDX-License-Identifier: Apache-2.0
"""Execution of plans: scheduling, retries, judging off the event loop, one writer, resumption."""

from kgbench.engine.plans import run_to_continue
from kgbench.engine.session import Journal, Progress, Settings, StopSignal
from kgbench.engine.work import run_plan

__all__ = ["Journal", "Progress", "Settings", "StopSignal", "run_plan", "run_to_continue"]
