# SPDX-License-Identifier: Apache-2.0
"""README.md is correct: its commands exist, its query runs, its outputs are real."""

import re

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from tests import readme


@pytest.fixture(scope="module")
def text():
    """Return the text of README.md."""
    return readme.README.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def spoken(text, tmp_path_factory):
    """Return each session of the README with its current output, on one new store."""
    store = tmp_path_factory.mktemp("readme") / "results"
    return [(session, readme.said(session, store)) for session in readme.sessions(text)]


def test_the_two_commands_stand_there(text):
    """The README shows the two commands that a newcomer needs."""
    assert "\n$ make run\n" in text
    assert "\n$ make test\n" in text


def test_outputs_are_real(spoken):
    """The README shows the current output of its commands; ``make readme`` updates it."""
    for session, now in spoken:
        assert readme.lasting(session.output) == readme.lasting(now), session.command


def test_the_query_finds_something(spoken):
    """One session queries the results of the quick start with SPARQL and gets rows."""
    (answer,) = (now for session, now in spoken if "SELECT" in session.command)

    assert int(re.match(r"(\d+) rows", answer)[1]) > 0


def commands(text):
    """Return the words of each ``kgbench ...`` command in the README."""
    shown = re.findall(r"`(?:\.venv/bin/)?kgbench ([a-z][^`]*)`", text)
    return sorted({tuple(code.split()) for code in shown})


def test_every_command_and_option_exists(text):
    """Each command in the README exists, and its help has the options used there."""
    named = commands(text)
    asked = CliRunner()

    assert named
    for words in named:
        path = [word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)]
        answer = asked.invoke(app, [*path[:2], "--help"], env={"COLUMNS": "200"})

        assert answer.exit_code == 0, words
        for option in (word for word in words if word.startswith("--")):
            assert option in answer.output, words
