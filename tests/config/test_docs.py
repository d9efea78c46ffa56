# SPDX-License-Identifier: Apache-2.0
"""``docs/configuration.md``: every example has the result that the page shows."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rdflib import SH

from kgbench import config
from kgbench.config import graphs, reading
from kgbench.model import Plan
from tests.support.config_files import shape_graph

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
BLOCKS = re.findall(r"^```([^\n]+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
ACCEPTED = [text for kind, text in BLOCKS if kind == "yaml"]
REFUSED = [
    (text, BLOCKS[number + 1][1])
    for number, (kind, text) in enumerate(BLOCKS)
    if kind == "yaml refused"
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to a folder with the files that the page mentions, and return it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "ours.yaml").write_text("models: ['baseline:silent']\n")
    (tmp_path / "formats.yaml").write_text(ACCEPTED[0])
    return tmp_path


@pytest.mark.parametrize("text", ACCEPTED)
def test_every_example_is_accepted(folder, text):
    """Every configuration on the page is accepted."""
    (folder / "example.yaml").write_text(text)

    assert config.validate("example.yaml") == []
    assert config.load("example.yaml").models


def test_the_example_in_turtle_is_accepted(folder):
    """The page's configuration in Turtle is accepted like those in YAML."""
    (text,) = [text for kind, text in BLOCKS if kind == "turtle"]
    (folder / "example.ttl").write_text(text)

    plan = config.load("example.ttl")

    assert [task.label for task in plan.tasks] == ["RdfSyntaxFixList-turtle", "friends"]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_every_mistake_is_said_as_the_page_says(folder, text, said):
    """The findings equal those of the page, to the letter."""
    (folder / "refused.yaml").write_text(text)

    assert [str(finding) for finding in config.validate("refused.yaml")] == said.splitlines()


def test_the_commands_say_what_the_page_says(folder):
    """The summary of ``kgbench validate`` and the output of the Python example are as shown."""
    command = [sys.executable, "-c", "from kgbench.cli import main; main()"]
    validated = subprocess.run(
        [*command, "validate", "formats.yaml"],
        env=os.environ | {"OPENAI_API_KEY": "as readers have set"},
        capture_output=True,
        text=True,
        check=True,
    )
    (script,) = [text for kind, text in BLOCKS if kind == "python"]
    python = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    outputs = [text for kind, text in BLOCKS if kind == "text"]
    assert validated.stdout == outputs[0]
    assert python.stdout == outputs[-1]


def test_the_table_of_keys_is_complete():
    """Every key of the shapes has its row, with its limits and the default of a plan."""
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)$", PAGE.read_text("utf-8"), re.MULTILINE))
    graph = shape_graph()
    root = next(graph.subjects(SH.targetClass, graph.resource(graphs.CONFIGURATION).identifier))
    keys = {str(graph.value(each, SH.name)) for each in graph.objects(root, SH.property)}
    defaults = {
        "seed": "seed",
        "concurrency": "concurrency",
        "callTimeout": "call_timeout",
        "judgeTimeout": "judge_timeout",
        "maxRetries": "max_retries",
        "requestsPerMinute": "requests_per_minute",
        "tokensPerMinute": "tokens_per_minute",
        "maxCost": "max_cost",
        "maxTokens": "max_tokens",
        "prices": "prices",
        "batch": "batch",
        "toolProtocol": "tool_protocol",
    }
    fields = {field.name: field.default for field in dataclasses.fields(Plan)}

    assert set(rows) == keys
    for key, field in defaults.items():
        default = fields[field]
        words = {"prices": "", "batch": "false"}
        shown = "" if default is None else words.get(key, f"{default:g}")
        assert rows[key].split("|")[-2].strip() == shown, key


def test_the_limits_of_the_page_are_those_of_the_code():
    """Sizes on the page equal those in the code."""
    text = PAGE.read_text("utf-8")

    assert f"files above {reading.MAX_BYTES // 1024} KiB" in text
    assert all(f"`{suffix}`" in text for suffix in reading.SYNTAXES)
    assert reading.MAX_FILES == 100
