# SPDX-License-Identifier: Apache-2.0
"""The page on exports documents every option, and its commands work."""

from __future__ import annotations

import re
import shlex

import pytest
import typer.main

from kgbench.cli import app
from tests.support.commands import printed as call

ELSEWHERE = {"--help", "--store"}


@pytest.fixture(scope="module")
def page(repository):
    """Return the text of the page."""
    return (repository / "docs" / "exports.md").read_text(encoding="utf-8")


def options(*command):
    """Return the long options of a command."""
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    named = {name for p in found.params for name in (*p.opts, *p.secondary_opts)}
    return {name for name in named if name.startswith("--")} - ELSEWHERE


@pytest.mark.parametrize("name", ["prov", "rocrate", "croissant", "eee", "llm-kg-bench"])
def test_every_option_is_in_the_table(page, name):
    """The table states for each option exactly the exports that have it."""
    rows = [row.split(" | ") for row in page.splitlines() if row.startswith("| `--")]
    told = {
        option
        for flags, where, *_ in rows
        for option in re.findall(r"--[a-z]+", flags)
        if where == "all" or f"`{name}`" in where or (where == "the same" and name != "eee")
    }

    assert options("export", name) == told


def test_the_import_is_told_of(page):
    """Every option of the import is on the page."""
    assert {o for o in options("import", "rdf") if o not in page} == set()


def test_the_commands_of_the_page_work(page, small, tmp_path, monkeypatch):
    """Each example works, except those that fetch data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGBENCH_STORE", str(small))
    said = call("export", "prov")
    dialogue = re.findall(r"activity\(run:(\S+?/[0-9]-\w+),", said)[0]
    run = re.findall(r"prefix run <(.*)>", said)[0]
    given = re.findall(r"^kgbench ([^#>\n]*)", page, re.MULTILINE)
    for line in given:
        if not line.startswith("import rdf"):
            call(*shlex.split(line.replace("DIALOGUE", run + dialogue)))

    assert len(given) > 8
    assert {"why.xml", "crate.zip", "data", "eee"} < {p.name for p in tmp_path.iterdir()}
