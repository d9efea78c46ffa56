# SPDX-License-Identifier: Apache-2.0
"""``docs/design.md``: the walks through the code name existing modules and functions."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "design.md"
HOPS = re.findall(r"`(kgbench(?:\.\w+)+)(?::(\w+))?`", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("module", "name"), HOPS, ids=[".".join(hop) for hop in HOPS])
def test_each_hop_is_there(module, name):
    """The named module can be imported, and has the named member with a docstring."""
    found = import_module(module)
    assert (getattr(found, name) if name else found).__doc__


def test_all_hops_are_found():
    """The pattern finds the code in every numbered line that has any."""
    lines = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d", line)
    ]
    assert len(lines) > 20
    assert all("`kgbench." in line for line in lines)
