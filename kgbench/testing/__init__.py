# SPDX-License-Identifier: Apache-2.0
"""For the tests of others: the contract of a task class, and the scores of an answer.

With pytest there are fixtures, too: :mod:`kgbench.pytest_plugin`.
"""

from __future__ import annotations

from kgbench.testing.contract import check_task_class
from kgbench.testing.executor import PlainExecutor
from kgbench.testing.scores import Example, Scored, example, score

__all__ = ["Example", "PlainExecutor", "Scored", "check_task_class", "example", "score"]
