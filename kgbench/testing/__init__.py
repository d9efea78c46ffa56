# SPDX-License-Identifier: Apache-2.0
"""Tools for tests of task classes: the contract of a task class, and scores of answers.

The same tools are pytest fixtures in :mod:`kgbench.pytest_plugin`.
"""

from __future__ import annotations

from kgbench.testing.contract import check_task_class
from kgbench.testing.judging import Example, PlainExecutor, Scored, example, score

__all__ = ["Example", "PlainExecutor", "Scored", "check_task_class", "example", "score"]
