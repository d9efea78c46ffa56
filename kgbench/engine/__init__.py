# SPDX-License-Identifier: Apache-2.0
"""Execution of plans: scheduling, retries, judging off the event loop, one writer, resumption."""

from kgbench.engine.journal import Journal
from kgbench.engine.progress import Progress
from kgbench.engine.run import run_plan, run_to_continue
from kgbench.engine.session import Settings
from kgbench.engine.stopping import Stop

__all__ = ["Journal", "Progress", "Settings", "Stop", "run_plan", "run_to_continue"]
