# SPDX-License-Identifier: Apache-2.0
"""``docs/running.md`` names real options, and shows a valid price table."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from kgbench.cli import app
from kgbench.engine import prices

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")


def test_only_real_options_are_told_of():
    """The page names no option that its commands do not have."""
    commands = typer.main.get_command(app).commands
    known = {
        name
        for command in ("run", "status", "invalidate")
        for parameter in commands[command].params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) <= known


def test_the_price_table_of_the_page_is_one(tmp_path):
    """The price table of the page is valid for ``--prices``."""
    (table,) = re.findall(r"```turtle\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "ours.ttl").write_text(table)

    assert "our-model" in {entry.name for entry in prices.declared(tmp_path / "ours.ttl")}
