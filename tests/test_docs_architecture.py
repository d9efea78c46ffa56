# SPDX-License-Identifier: Apache-2.0
"""The walks through the code name what is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
HOPS = re.findall(r"`(kgbench(?:\.\w+)+)(?::(\w+))?`", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("module", "name"), HOPS, ids=[".".join(hop) for hop in HOPS])
def test_each_hop_is_there(module, name):
    """The module can be imported, and has what is named and documented in it."""
    found = import_module(module)
    assert (getattr(found, name) if name else found).__doc__


def test_all_hops_are_found():
    """The pattern that finds hops finds those of every numbered line that has code."""
    lines = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d", line)
    ]
    assert len(lines) > 20
    assert all("`kgbench." in line for line in lines)
