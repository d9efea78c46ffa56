# SPDX-License-Identifier: Apache-2.0
"""Fixtures and helpers for the tests of the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.publish.checks import published_folder
from tests.publish.checks.published_folder import Copy


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a published folder; tests spoil a copy of it."""
    return published_folder.publish_sample(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def one_copy(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a copy of the published folder."""
    return Copy(site, tmp_path_factory.mktemp("spoilt") / "site")


@pytest.fixture
def copy(one_copy: Copy) -> Iterator[Copy]:
    """Yield the copy; it is restored after each test."""
    yield one_copy
    one_copy.mend()


def rounds(faults: Iterable[str], told: Callable[[list[str]], set[str]]) -> int:
    """Return the number of rounds until all faults are found; found faults are not planted again.

    ``told`` plants as many of the faults as fit together and returns the reported ones. If it
    reports none, the faults hide each other; then the next fault is planted alone and must be
    reported.
    """
    left, number = list(faults), 0
    while left:
        number += 1
        found = told(left) or told(left[:1])
        assert found, left
        left = [name for name in left if name not in found]
    return number


@pytest.fixture(scope="session")
def quads(site: Path) -> ox.Store:
    """Return all quads in the dumps; a test that spoils the store restores it."""
    return published_folder.quads(site)
