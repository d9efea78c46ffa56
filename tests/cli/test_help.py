# SPDX-License-Identifier: Apache-2.0
"""The help of every command can be read at 80 columns."""

from __future__ import annotations

import re

import pytest
import typer
from typer.testing import CliRunner

from kgbench.cli import app, main

ROOT = typer.main.get_command(app)


def paths(command, path=()):
    """Yield every command and group below ``command``, as the words of the command line."""
    yield path
    for name, found in getattr(command, "commands", {}).items():
        yield from paths(found, (*path, name))


def found(path):
    """Return the command at a path."""
    command = ROOT
    for name in path:
        command = command.commands[name]
    return command


def helped(path, columns="80"):
    """Return the help of a command."""
    answer = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": columns})
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.mark.parametrize("path", list(paths(ROOT)), ids=lambda path: " ".join(path) or "kgbench")
def test_help_is_whole_at_80_columns(path):
    """No line exceeds 80 characters, no option is cut, and no Python type is shown."""
    text = helped(path)
    assert max(map(len, text.splitlines())) <= 80
    assert "\u2026" not in text
    assert not re.search(r"<(bool|int|float|str|path|file|text|choice)\b|\[x|\bINTEGER", text)
    words = set(re.findall(r"[\w-]+", text))
    for parameter in found(path).params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            assert {*parameter.opts, *parameter.secondary_opts} <= words
            assert parameter.help, parameter.name


def test_options_are_grouped_and_say_what_they_take():
    """A long list of options is grouped; values are words, choices or bounds."""
    text = helped(("plot",))
    titles = re.findall(r"^╭─ ([\w ]+) ─", text, re.MULTILINE)
    assert titles == ["Arguments", "Selection", "Output", "Options"]
    assert "KIND" in text
    assert "agreement, boxplot, compass, confusion" in " ".join(text.replace("│", " ").split())
    assert "-f, --format png|svg|pdf" in text
    assert "--top N" in text
    assert "Default: first." in text
    assert "Or set KGBENCH_STORE." in " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("path", "formats"),
    [
        (("analyze", "tasks"), "table, csv, json, xlsx, markdown, latex"),
        (("query",), "table, json, csv, tsv, xml, turtle"),
    ],
)
def test_formats_are_listed(path, formats):
    """The help of --format names each format, also if its text mentions some of them."""
    assert f"One of {formats}." in " ".join(helped(path).replace("│", " ").split())


@pytest.mark.parametrize("columns", ["20", "60", "100", "300"])
def test_help_fits_narrow_and_wide_terminals(columns):
    """Help is never wider than 100 columns, and remains readable on narrow terminals."""
    widest = max(map(len, helped(("run",), columns).splitlines()))
    assert widest <= max(60, min(100, int(columns)))


def test_the_list_of_commands_needs_no_options_of_theirs(monkeypatch, capsys):
    """``kgbench --help``, which is printed without loading commands, equals the full help."""
    monkeypatch.setattr("sys.argv", ["kgbench", "--help"])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    listed = capsys.readouterr().out
    assert listed.partition("Commands")[2] == helped(()).partition("Commands")[2] != ""


@pytest.mark.parametrize(
    "path",
    [path for path in paths(ROOT) if hasattr(found(path), "commands")],
    ids=lambda path: " ".join(path) or "kgbench",
)
def test_a_group_alone_prints_its_help(path):
    """A group without a command prints its commands, with the exit code for wrong usage."""
    answer = CliRunner().invoke(app, list(path))

    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr.strip() == helped(path).strip()


def test_the_program_alone_prints_the_list_of_commands(monkeypatch, capsys):
    """``kgbench`` alone prints the list of commands."""
    monkeypatch.setattr("sys.argv", ["kgbench"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert "Run a benchmark, or continue it" in capsys.readouterr().err


def test_wrong_choices_are_told_in_our_words():
    """The error about a wrong choice lists the choices, without phrases of the library."""
    answer = CliRunner().invoke(app, ["dialogues", "--outcome", "unparsed"])

    assert answer.exit_code == 2
    assert "Value error" not in answer.stderr
    assert "'unparsed' is not one of" in answer.stderr
