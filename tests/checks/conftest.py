# SPDX-License-Identifier: Apache-2.0
"""What the tests of the checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from _pytest.mark import ParameterSet

from tests.checks import published_folder
from tests.checks.published_folder import Copy


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published folder; tests spoil a copy of it."""
    return published_folder.publish_sample(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def one_copy(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy of it."""
    return Copy(site, tmp_path_factory.mktemp("spoilt") / "site")


@pytest.fixture
def copy(one_copy: Copy) -> Iterator[Copy]:
    """The copy, mended after each test."""
    yield one_copy
    one_copy.mend()


def a_sixth(faults: Iterable[str]) -> list[ParameterSet]:
    """The names of faults, of which five in six are ``long``: each makes a publication again."""
    marks = [(), *[(pytest.mark.long,)] * 5]
    return [
        pytest.param(name, marks=marks[number % 6], id=name) for number, name in enumerate(faults)
    ]


def rounds(faults: Iterable[str], told: Callable[[list[str]], set[str]]) -> int:
    """In how many rounds all faults are found: what is found is mended before the next round.

    ``told`` plants faults, as far as they can be planted together, and says which were told. Where
    none was, they hide each other, and the next one is planted alone, which must be told.
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
    """Everything in its dumps; whoever spoils it mends it."""
    return published_folder.quads(site)
