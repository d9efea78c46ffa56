# SPDX-License-Identifier: Apache-2.0
"""What meets foreign text holds against mutated inputs, and against each that once broke it."""

from __future__ import annotations

import os

import pytest

from tests.fuzzing import CASES, TARGETS, attack

SECONDS = float(os.environ.get("FUZZ_SECONDS", "300"))
KNOWN = [path for path in sorted(CASES.glob("*/*")) if path.is_file()]


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_once_broke_holds(path):
    """Each input that fuzzing found is dealt with."""
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_what_mutations_begin_with_holds(name):
    """The inputs that are mutated are dealt with themselves."""
    for data in TARGETS[name].seeds:
        TARGETS[name].check(data)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_no_mutation_breaks_it(name):
    """For its share of the time, no mutated input raises what is not declared."""
    assert attack(name, SECONDS / len(TARGETS)) > 0
