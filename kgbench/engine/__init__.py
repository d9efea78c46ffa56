# SPDX-License-Identifier: Apache-2.0
"""Execution of plans: scheduling, retries, judging off the event loop, one writer, resumption."""

from kgbench.engine.journal import Journal
from kgbench.engine.progress import Progress
from kgbench.engine.run import run_plan
from kgbench.engine.run_state import run_to_continue
from kgbench.engine.session import Settings
from kgbench.engine.stop_signal import StopSignal

__all__ = ["Journal", "Progress", "Settings", "StopSignal", "run_plan", "run_to_continue"]
