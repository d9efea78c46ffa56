# SPDX-License-Identifier: Apache-2.0
"""``docs/running.md`` tells of the options there are, and shows a price table that is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from kgbench.cli import app
from kgbench.engine import prices

PAGE = (Path(__file__).parent.parent / "docs" / "running.md").read_text("utf-8")
#: What other pages or every command's help tell of.
ELSEWHERE = {"--help", "--json", "--store", "--engine", "--executor", "--key-file"}


def options(command):
    """The long options of a command."""
    found = typer.main.get_command(app).commands[command]
    named = [name for p in found.params for name in (*p.opts, *p.secondary_opts)]
    return {name for name in named if name.startswith("--")} - ELSEWHERE


@pytest.mark.parametrize("command", ["run", "status", "invalidate"])
def test_every_option_is_told_of(command):
    """No option of these commands is missing on the page."""
    missing = {name for name in options(command) if name not in PAGE and name != "--verbose"}

    assert missing == set()


def test_only_real_options_are_told_of():
    """The page names no option that these commands lack."""
    known = {"--json"}.union(*(options(name) for name in ("run", "status", "invalidate")))

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--store"} <= known


def test_the_price_table_of_the_page_is_one(tmp_path):
    """What the page shows can be given to ``--prices``."""
    (table,) = re.findall(r"```turtle\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "ours.ttl").write_text(table)

    assert "our-model" in {entry.name for entry in prices.declared(tmp_path / "ours.ttl")}
