# SPDX-License-Identifier: Apache-2.0
"""Fixtures for everybody's tests; pytest finds them wherever kgbench is installed.

Nothing of kgbench is imported before a test asks for it, so a test suite that does not use the
fixtures does not notice them.
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

    One child process judges for all tests, and ends with them.
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
    """``kgbench_contract(name)`` fails where the task class does not do what every one must do."""
    from kgbench.testing import check_task_class

    return check_task_class
