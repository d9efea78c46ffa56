# SPDX-License-Identifier: Apache-2.0
"""``kgbench query`` on all graphs together, with common prefixes and errors in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app


def query(folder: Path, text: str, code: int = 0) -> str:
    """What the command prints, or the message that it fails with."""
    (folder / "asked.rq").write_text(text)
    words = ["query", str(folder / "asked.rq"), "--store", str(folder / "store"), "--format", "csv"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return str(done.exception) if code else done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store of one dialogue."""
    words = ["run", "--task", "RdfFriendCount-nt-1", "--model", "baseline:oracle", "-n", "1"]
    assert CliRunner().invoke(app, [*words, "--store", str(tmp_path / "store")]).exit_code == 0
    return tmp_path


def test_the_default_graph_is_the_union(folder: Path) -> None:
    """Without GRAPH all graphs are asked, and common prefixes need no declaration."""
    assert query(folder, "SELECT (COUNT(?d) AS ?n) { ?d a kgb:Dialogue }").split() == ["n", "1"]


def test_errors_are_short(folder: Path) -> None:
    """A prefix that is not declared is named; other errors name the place, not the grammar."""
    said = query(folder, "SELECT * WHERE {\n ?s foo:x ?o }", code=1)
    assert said == "prefix foo: is not declared (line 2)"
    said = query(folder, "SELECT * WHERE { ?s ?p ", code=1)
    assert said == "the query is not SPARQL: line 1, after 'SELECT * WHERE { ?s ?p '"
