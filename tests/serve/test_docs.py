# SPDX-License-Identifier: Apache-2.0
"""The page about serving describes the command."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

from kgbench.cli import app
from tests.serve.test_graph_store_cases import CASES
from tests.serve.test_protocol import QUERIES, UPDATES


@pytest.fixture(scope="module")
def page(repository):
    """Return the text of the page."""
    return (repository / "docs" / "serve.md").read_text(encoding="utf-8")


def test_every_option_is_documented(page):
    """The table of options has those of the command, and no others."""
    command = get_command(app).commands["serve"]
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} - {
        "--help",
        "-h",
        "-t",
    }
    written = {
        o for row in re.findall(r"^\| (`--[^|]*)\|", page, re.MULTILINE) for o in _flags(row)
    }

    assert options == written


def _flags(cell):
    return re.findall(r"`(--[a-z0-9-]+)`", cell)


def test_every_protocol_case_is_in_the_table(page):
    """Each test case of the protocol is on the page, by its name or the end of it."""
    named = set(re.findall(r"[a-z0-9]*_[a-z_0-9]+", page))
    for case in (*QUERIES, *UPDATES):
        endings = {case.name[place:] for place, c in enumerate(case.name) if c == "_"}
        assert {case.name, *endings} & named, case.name


def test_every_graph_store_case_is_in_the_table(page):
    """Each test case of the Graph Store Protocol is on the page, by its name."""
    named = set(re.findall(r"[a-z0-9]*_[a-z_0-9]+", page))
    assert {case.name for case in CASES} <= named
