# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings are correct."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import kgbench
from kgbench import resources

PACKAGE = Path(kgbench.__file__).parent
OF_THE_API = re.compile(r"\bkgbench\.(open|score|example)\(")
MODULES = sorted(
    ".".join((package, *path.relative_to(folder).with_suffix("").parts))
    for package, folder in (
        ("kgbench", PACKAGE),
        ("kgbench.families", resources.folder("tasks")),
    )
    for path in folder.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    """Every example in the docstrings of a module gives the stated output.

    Those of the public API need results: ``tests/api/test_documented.py`` runs them.
    """
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(import_module(name)):
        if not any(OF_THE_API.search(example.source) for example in test.examples):
            runner.run(test)

    assert runner.failures == 0
