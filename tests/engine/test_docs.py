# SPDX-License-Identifier: Apache-2.0
"""``docs/running.md`` describes all options, and shows a valid price table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from kgbench.cli import app
from kgbench.engine import prices

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")
#: Options that other pages or every command's help describe.
ELSEWHERE = {"--help", "--json", "--store", "--engine", "--executor", "--key-file"}


def options(command):
    """Return the long options of a command."""
    found = typer.main.get_command(app).commands[command]
    named = [name for p in found.params for name in (*p.opts, *p.secondary_opts)]
    return {name for name in named if name.startswith("--")} - ELSEWHERE


@pytest.mark.parametrize("command", ["run", "status", "invalidate"])
def test_every_option_is_told_of(command):
    """The page names every option of these commands."""
    missing = {name for name in options(command) if name not in PAGE and name != "--verbose"}

    assert missing == set()


def test_only_real_options_are_told_of():
    """The page names no other option."""
    known = {"--json"}.union(*(options(name) for name in ("run", "status", "invalidate")))

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--store"} <= known


def test_the_price_table_of_the_page_is_one(tmp_path):
    """The price table of the page is valid for ``--prices``."""
    (table,) = re.findall(r"```turtle\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "ours.ttl").write_text(table)

    assert "our-model" in {entry.name for entry in prices.declared(tmp_path / "ours.ttl")}
