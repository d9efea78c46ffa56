# SPDX-License-Identifier: Apache-2.0
"""Fuzzing: readers of foreign text survive mutated inputs and all inputs that once broke them."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.fuzzing import CASES, TARGETS, attack

SECONDS = float(os.environ.get("FUZZ_SECONDS", "300"))
KNOWN = [path for path in sorted(CASES.glob("*/*")) if path.is_file()]


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_once_broke_holds(path):
    """Each input that fuzzing once found raises no undeclared error."""
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_what_mutations_begin_with_holds(name):
    """The seeds of the mutations raise no undeclared error."""
    for data in TARGETS[name].seeds:
        TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
def test_no_mutation_breaks_it(name):
    """No mutated input raises an undeclared error within the time of its target."""
    assert attack(name, SECONDS / len(TARGETS)) > 0
