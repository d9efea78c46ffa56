# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of generated task families: cases, and output of other processes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

from kgbench.model import Case, Outcome, Verdict
from kgbench.tasks import catalogue

_TELL = (
    "import sys; from tests.support.families import digest; "
    "print(digest(sys.argv[2:], int(sys.argv[1])))"
)


def cases(label: str, count: int, seed: int = 7) -> list[Case]:
    """Return the first cases of a labelled task."""
    task = catalogue.labelled_tasks()[label]
    return list(catalogue.module(task.task_class).cases(task, "own", seed, count))


def answered(module: Any, judged: Callable[..., Verdict], found: list[Case], *scores: str) -> None:
    """Assert that cases differ, and references score 1.0 and silence 0.0 (in ``scores`` or all)."""
    prompts = {module.prompt(case) for case in found}
    assert len({case.iri for case in found}) == len(prompts) == len(found)
    for case in found:
        right, silent = judged(case, module.reference(case)), judged(case, "")
        names = scores or tuple(right.scores)
        assert {right.scores[name] for name in names} == {1.0}, case.data
        assert right.next_prompt is None
        assert {silent.scores[name] for name in names} == {0.0}, case.data
        assert silent.outcome is Outcome.EMPTY
        assert silent.next_prompt


def digest(labels: Iterable[str], count: int) -> str:
    """Return a digest of the data of the first ``count`` cases of some labelled tasks."""
    found = hashlib.sha256()
    for label in labels:
        for case in cases(label, count):
            found.update(repr(sorted(case.data.items())).encode())
    return found.hexdigest()


def digests(labels: Iterable[str], count: int) -> list[str]:
    """Return the digests of cases from two processes with different hash seeds."""
    return printed(_TELL, str(count), *labels)


def printed(code: str, *arguments: str) -> list[str]:
    """Return the output of Python code in two processes with different hash seeds."""
    return [
        subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in "12"
    ]
