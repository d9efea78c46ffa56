# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of generated task families: cases, and output of other processes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable

from kgbench.model import Case
from kgbench.tasks import catalogue


def cases(label: str, count: int, seed: int = 7) -> list[Case]:
    """Return the first cases of a labelled task."""
    task = catalogue.labelled_tasks()[label]
    return list(catalogue.module(task.task_class).cases(task, "own", seed, count))


def digest(labels: Iterable[str], count: int) -> str:
    """Return a digest of the data of the first ``count`` cases of some labelled tasks."""
    found = hashlib.sha256()
    for label in labels:
        for case in cases(label, count):
            found.update(repr(sorted(case.data.items())).encode())
    return found.hexdigest()


def printed(code: str) -> list[str]:
    """Return the output of Python code in two processes with different hash seeds."""
    return [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    ]
