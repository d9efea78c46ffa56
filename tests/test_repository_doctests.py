# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings do what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import kgbench

PACKAGE = Path(kgbench.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    """Every example in the docstrings of a module gives what stands below it."""
    module = import_module(name)

    assert doctest.testmod(module).failed == 0


def test_there_are_examples() -> None:
    """Where to look for examples is not mistaken."""
    assert len(MODULES) > 20
