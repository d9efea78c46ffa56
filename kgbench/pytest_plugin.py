# SPDX-License-Identifier: Apache-2.0
"""Pytest fixtures for tests of task classes and answers, available where kgbench is installed.

A fixture imports kgbench only when a test uses it, so test suites that do not use the fixtures are
not slowed down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kgbench.testing import Example, Scored


@pytest.fixture(scope="session")
def kgbench_score() -> Iterator[Callable[..., Scored]]:
    """``kgbench_score(label, *answers, case=0)``: see :func:`kgbench.testing.score`.

    One child process judges the answers of all tests; it ends after the last test.
    """
    from kgbench.execution.judging import end_child
    from kgbench.testing import score

    yield score
    end_child()


@pytest.fixture(scope="session")
def kgbench_example() -> Callable[..., Example]:
    """``kgbench_example(label, case=0)``: see :func:`kgbench.testing.example`."""
    from kgbench.testing import example

    return example


@pytest.fixture(scope="session")
def kgbench_contract() -> Callable[[str], Any]:
    """``kgbench_contract(name)`` fails if the task class breaks the contract of task classes."""
    from kgbench.testing import check_task_class

    return check_task_class
