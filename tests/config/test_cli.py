# SPDX-License-Identifier: Apache-2.0
"""``kgbench validate``: messages and exit codes."""

import json

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.config import names
from tests.support.config_files import GOOD, changed, write


def run(*arguments):
    """Return the result of ``kgbench validate ARGUMENTS``."""
    return CliRunner().invoke(app, ["validate", *map(str, arguments)])


def test_an_accepted_configuration_is_summed_up(tmp_path):
    """Exit code 0, and a summary in one line."""
    path = write(tmp_path, GOOD)

    result = run(path)

    assert result.exit_code == 0
    assert result.stdout == f"accepted: {path}: 1 task, 1 model, 2 iterations\n"
    each = run(write(tmp_path, changed("iterations: 2", "iterationsPerCase: 1")))
    assert "1 iteration per case" in each.stdout


def test_a_refused_configuration_is_told_in_words(tmp_path):
    """Exit code 1, and one line for each finding with file, line and pointer."""
    path = write(tmp_path, changed("iterations: 2", "iteratons: 2"))

    result = run(path)

    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"{path}:1: needed: either 'iterations'")
    assert lines[1].startswith(f"{path}:6: /iteratons: unknown key 'iteratons': did you mean iter")
    assert lines[-1] == "refused: 2 findings"


def test_what_is_not_installed_is_noted(tmp_path, monkeypatch):
    """A known name that is not installed is noted and does not make a configuration wrong."""
    monkeypatch.setattr(names, "installed_connectors", lambda: ("baseline",))
    result = run(write(tmp_path, changed("baseline:oracle", "google:gemini")))

    assert result.exit_code == 0
    assert "note: " in result.stdout
    assert "the connector 'google' is not installed" in result.stdout
    assert "1 of them cannot be run here" in result.stdout


@pytest.mark.parametrize("text", [GOOD, changed("iterations: 2", "iterations: 0")])
def test_json_says_the_same(tmp_path, text):
    """``--json`` gives findings with their parts, and the counts."""
    path = write(tmp_path, text)

    result = run(path, "--json")
    said = json.loads(result.stdout)

    assert said["accepted"] is (result.exit_code == 0)
    if said["accepted"]:
        assert (said["tasks"], said["models"], said["iterations"]) == (1, 1, 2)
        assert said["findings"] == []
    else:
        assert said["findings"] == [
            {
                "source": str(path),
                "pointer": "/iterations",
                "message": "found 0; allowed: a whole number from 1 to 1000000",
                "line": 6,
            }
        ]
