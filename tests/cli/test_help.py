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


def helped(path, columns="80", word="--help"):
    """Return the help of a command."""
    answer = CliRunner().invoke(app, [*path, word], env={"COLUMNS": columns})
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def options(path):
    """Return the options of a command."""
    return [each for each in found(path).params if each.param_type_name == "option"]


def everything(path, columns="80"):
    """Return the help of a command with all its options."""
    short = helped(path, columns)
    return helped(path, columns, "--help-all") if "--help-all" in short else short


@pytest.mark.parametrize("path", list(paths(ROOT)), ids=lambda path: " ".join(path) or "kgbench")
def test_help_is_whole_at_80_columns(path):
    """No line exceeds 80 characters, no option is cut, and no Python type is shown."""
    text = everything(path)
    assert max(map(len, text.splitlines())) <= 80
    assert "\u2026" not in text
    assert not re.search(r"<(bool|int|float|str|path|file|text|choice)\b|\[x|\bINTEGER", text)
    words = set(re.findall(r"[\w-]+", text))
    for option in options(path):
        assert {*option.opts, *option.secondary_opts} <= words
        assert option.help, option.name


@pytest.mark.parametrize("path", list(paths(ROOT)), ids=lambda path: " ".join(path) or "kgbench")
def test_help_begins_with_few_options(path):
    """``--help`` shows at most eleven options, and the number of the others."""
    text = helped(path)
    shown = re.findall(r"^│ [ *]{0,3}--([\w-]+)", text, re.MULTILINE)
    shown = [name for name in shown if name not in ("help", "help-all")]
    assert len(shown) <= 11
    more = re.search(r"--help-all shows (\d+) more options", text)
    assert len(options(path)) == len(shown) + (int(more[1]) if more else 0)


def test_options_are_grouped_and_say_what_they_take():
    """Rarer options are grouped; values are words, choices or bounds."""
    text = everything(("plot", "boxplot"))
    titles = re.findall(r"^╭─ ([\w ]+) ─", text, re.MULTILINE)
    assert titles == ["Options", "Figure", "Scores", "Selection"]
    text = " ".join(text.replace("│", " ").split())
    assert "--format -f png|svg|pdf" in text
    assert "--top N" in text
    assert "[default: first]" in text
    assert "[env var: KGBENCH_STORE]" in text


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
    widest = max(map(len, everything(("run",), columns).splitlines()))
    assert widest <= max(60, min(100, int(columns)))


def test_the_list_of_commands_needs_no_options_of_theirs(monkeypatch, capsys):
    """``kgbench --help``, which is printed without loading commands, equals the full help."""
    monkeypatch.setattr("sys.argv", ["kgbench", "--help"])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    listed = capsys.readouterr().out
    assert listed.partition("─ Run ─")[2] == helped(()).partition("─ Run ─")[2] != ""


@pytest.mark.parametrize(
    "path",
    [path for path in paths(ROOT) if hasattr(found(path), "commands") and path != ("review",)],
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
