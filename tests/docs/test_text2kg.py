# SPDX-License-Identifier: Apache-2.0
"""``docs/text2kgbench.md`` is correct in its configuration, parameters and metrics."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench import config
from kgbench.cli import app
from kgbench.datasets import home
from kgbench.importers.text2kgbench_catalogue import KINDS
from kgbench.tasks import catalogue
from tests.support import text2kg_data

PAGE = (Path(__file__).parents[2] / "docs" / "text2kgbench.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
CONFIGURATIONS = [text for kind, text in BLOCKS if kind == "yaml"]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_configurations_are_accepted(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every configuration on the page is valid once the data are installed."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    data = text2kg_data.write(tmp_path / "data")
    arguments = ["datasets", "install", "text2kgbench", "--from", str(data)]
    CliRunner().invoke(app, arguments, catch_exceptions=False)
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    assert config.validate(str(tmp_path / "run.yaml")) == []


def test_parameters_and_metrics_are_all_named() -> None:
    """The page names every parameter and every metric of both task classes."""
    for name in ("Text2KG", "Text2KGRdf"):
        declared = catalogue.task_class(name)
        for each in (*declared.parameters, *declared.metrics):
            assert f"`{each}`" in PAGE, each


def test_kinds_of_faults_are_explained() -> None:
    """Every kind of fault has an explanation."""
    assert all(text and not text.endswith(".") for text in KINDS.values())


def test_sample_runs_as_shown(tmp_path: Path) -> None:
    """The first command of the page runs without any data, and the oracle is perfect."""
    arguments = [*shlex.split(COMMANDS[0])[1:], "--store", str(tmp_path / "store")]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "8 of 8 dialogues complete" in result.output
