# SPDX-License-Identifier: Apache-2.0
"""``kgbench query`` searches all graphs together, declares prefixes and explains errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app


def query(folder: Path, text: str, code: int = 0) -> str:
    """Return the output of the command, or its error message."""
    (folder / "asked.rq").write_text(text)
    words = ["query", str(folder / "asked.rq"), "--store", str(folder / "store"), "--format", "csv"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return str(done.exception) if code else done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a store of one dialogue."""
    words = ["run", "--task", "RdfFriendCount-nt-1", "--model", "baseline:oracle", "-n", "1"]
    assert CliRunner().invoke(app, [*words, "--store", str(tmp_path / "store")]).exit_code == 0
    return tmp_path


def test_the_default_graph_is_the_union(folder: Path) -> None:
    """Without GRAPH all named graphs are searched, and common prefixes are declared."""
    assert query(folder, "SELECT (COUNT(?d) AS ?n) { ?d a kgb:Dialogue }").split() == ["n", "1"]


def test_errors_are_short(folder: Path) -> None:
    """An undeclared prefix is named; other syntax errors name the position only."""
    said = query(folder, "SELECT * WHERE {\n ?s foo:x ?o }", code=1)
    assert said == "prefix foo: is not declared (line 2)"
    said = query(folder, "SELECT * WHERE { ?s ?p ", code=1)
    assert said == "the query is not SPARQL: line 1, after 'SELECT * WHERE { ?s ?p '"
