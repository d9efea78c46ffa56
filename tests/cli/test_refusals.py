# SPDX-License-Identifier: Apache-2.0
"""Commands answer a wrong argument with one line and a hint, and write nothing."""

import re
import subprocess
import sys

import pytest

from kgbench import cli
from kgbench.cli import app, main
from kgbench.cli.printing import missing_package
from kgbench.errors import StoreError, TaskError
from kgbench.record import reading
from kgbench.store import open_reader, open_store
from tests.support.commands import kgbench

WIDE = {"COLUMNS": "200"}
COMMAND = ("run", "--model", "baseline:oracle", "--task", "RdfFriendCount-turtle-1")


@pytest.fixture
def store(single):
    """Return the location of a store with one small run."""
    return str(single)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--suite", "kgbench-2"], "unknown suite 'kgbench-2': did you mean kgbench-1"),
        (["--engine", "jena"], "there is no engine 'jena': choose oxigraph or rdflib"),
    ],
)
def test_a_run_with_a_wrong_word_writes_nothing(store, words, hint):
    """No run begins with an unknown suite or with an unknown engine."""
    ran = kgbench(*COMMAND, "--new", *words, "--store", store, code=2, env=WIDE)

    assert hint in ran.stderr
    with open_reader(store) as opened:
        assert len(reading.runs(opened)) == 1


@pytest.mark.parametrize("words", [["--task", "RdfFrendCount-*"], ["--model", "oracel"]])
def test_judging_nothing_again_is_refused(store, words):
    """A selection without stored dialogues creates no pass, and the choices are named."""
    done = kgbench("reevaluate", *words, "--store", store, code=1)

    assert isinstance(done.exception, TaskError)
    assert f"no stored dialogue fits {words[1]}" in str(done.exception)
    assert "RdfFriendCount-turtle-1" in str(done.exception)
    assert "baseline:oracle" in str(done.exception)
    with open_reader(store) as opened:
        assert [one.kind for one in reading.passes(opened, reading.runs(opened)[0])] == ["live"]


def test_a_list_of_no_task_is_refused():
    """A pattern that matches no task label is refused."""
    done = kgbench("tasks", "list", "RdfFreindCount-turtle-1", code=1)

    assert isinstance(done.exception, TaskError)
    assert "did you mean RdfFriendCount-turtle-1" in str(done.exception)


def test_a_file_that_cannot_be_written_is_one_line(store, tmp_path):
    """An operating system error names the file; the traceback needs --debug."""
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "board.csv"
    words = ["analyze", "leaderboard", "--format", "csv", "--store", store, "--out", str(target)]
    plain, debug = (
        subprocess.run(
            [sys.executable, "-m", "kgbench", *more, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        for more in ([], ["--debug"])
    )

    assert plain.returncode == 1
    assert plain.stderr == f"kgbench: {target}: Not a directory\n"
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr


def test_files_steer_no_terminal(tmp_path, monkeypatch, capsys):
    """Control characters of a file are escaped in error messages and in checklists."""
    file = tmp_path / "evil.ttl"
    file.write_text("@prefix \x1b[31mevil: <http://example.org/> .")
    for words in (
        ["import", "rdf", file, "--store", tmp_path / "store"],
        ["publish", "--check", file],
    ):
        monkeypatch.setattr(sys, "argv", ["kgbench", *map(str, words)])
        with pytest.raises(SystemExit):
            main()
        said = "".join(capsys.readouterr())
        assert "\\x1b" in said
        assert "\x1b" not in said


def test_a_missing_package_is_told_from_a_missing_module():
    """A missing package is named with its extra; a missing module of kgbench is not masked."""
    told = missing_package(ModuleNotFoundError(name="matplotlib.figure"), "plots")
    assert str(told).startswith("matplotlib.figure is not installed: ")
    assert str(told).endswith(" -m pip install 'kgbench[plots]'")

    with pytest.raises(ModuleNotFoundError):
        missing_package(ModuleNotFoundError(name="kgbench.plots"), "plots")


def test_other_names_of_the_command_line_are_unknown():
    """The module creates only the command line on demand; other attributes are unknown."""
    assert not hasattr(cli, "unknown")
    assert cli.app is app


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "a", "b", "--flips"],
        ["compare", "a", "b"],
        ["analyze", "leaderboard"],
        ["analyze", "tasks"],
    ],
)
def test_an_unknown_estimand_is_refused_at_once(words):
    """The value is checked before a store is opened, even if nothing is tested."""
    done = kgbench(*words, "--estimand", "case", "--store", "nowhere", code=1)
    assert str(done.exception) == (
        "'case' is not an estimand to choose; there are: cases, repetitions, tasks, dialogues "
        "(did you mean cases?)"
    )


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["import", "rdf"], ["import_"]),
        (["store"], ["store"]),
        (["import_"], None),
        (["--debug", "run"], None),
        ([], None),
        (["harvest", "x"], ["harvest"]),
    ],
)
def test_only_the_command_that_is_named_is_made(words, made):
    """Only the named command is loaded; without a leading command, all commands are."""
    assert cli._requested_commands(words) == made


@pytest.mark.parametrize(
    "words",
    [
        ("invalidate", "run/x", "--reason", "wrong"),
        ("judge", "--rubric", "correctness", "-m", "baseline:oracle"),
        ("reevaluate",),
        ("review", "import", "verdicts.csv"),
        ("review",),
        *(("store", name) for name in ("compact", "optimize")),
    ],
)
@pytest.mark.parametrize("empty", [False, True])
def test_a_mistyped_store_is_not_made(words, empty, tmp_path, monkeypatch):
    """A command that works on results creates no store in a missing or empty folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "verdicts.csv").write_text("verdict\n", encoding="utf-8")
    place = tmp_path / "mistyped"
    if empty:
        place.mkdir()
    done = kgbench(*words, "--store", place, code=1)

    assert isinstance(done.exception, StoreError)
    assert f"there is no store at {place}" in str(done.exception)
    assert place.exists() == empty
    assert not empty or not list(place.iterdir())


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        (["analyze", "tasks"], "--task", ["RdfFriendCount-nt*", "RdfSyntax*"]),
        (["compare"], "--task", ["RdfFriendCount-nt*", "RdfSyntax*"]),
        (["dialogues"], "--outcome", ["failed", "answered"]),
        (["run"], "--iterations", ["1", "2"]),
    ],
)
def test_a_second_value_of_a_single_option_is_refused(store, command, option, values):
    """No command silently uses the last of several values."""
    words = [word for value in values for word in (option, value)]
    done = kgbench(*command, *words, "--store", store, code=2, env=WIDE)

    assert f"{option}: given 2 times, but it has one value: give it once" in done.stderr


def test_repeatable_options_and_flags_are_accepted_twice(store):
    """Several values of a repeatable option, and the same flag twice, are no mistake."""
    words = ["--task", "RdfFriendCount-turtle-1", "--task", "RdfFriendCount-nt-1"]
    options = ["--model", "baseline:oracle", "--dry-run", "--json", "--json", "--store", store]
    kgbench("run", *words, *options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--model", ""], "selects no model of the configuration"),
        (["dialogues", "--below", "nan"], "below: nan is not a finite number"),
        (["query", "SELECT * { ?s ?p ?o }"], "give - and pipe it to standard input"),
        (["query", f"SELECT * {{ {'?s ?p ?o . ' * 99} }}"], "give - and pipe it"),
        (["run", "--prices", "none.ttl"], "none.ttl cannot be read: No such file or directory"),
        (
            ["tasks", "encrypt", "none", "--key-file", "none.key"],
            "none.key cannot be read: No such file or directory",
        ),
    ],
)
def test_errors_say_what_is_wrong(words, message, tmp_path, monkeypatch):
    """A wrong argument is refused with its reason, once and without codes of the system."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGBENCH_STORE", str(tmp_path / "store"))
    kgbench(*COMMAND, "--iterations", "1")
    done = kgbench(*words, code=1)

    assert message in str(done.exception)
    assert "Errno" not in str(done.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["import", "text2kgbench", "none"], "'none' does not exist"),
        (["import", "grasp", "none"], "'none' does not exist"),
        (["import", "grasp", "file"], "'file' is a file"),
        (["import", "spinach", "none"], "'none' does not exist"),
        (["serve", "--update"], "Invalid value for --update: updates need a token"),
    ],
)
def test_arguments_are_refused_by_name(words, message, tmp_path, monkeypatch):
    """A folder that does not exist is not said to lack files, and an option has its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KGBENCH_SERVE_TOKEN", raising=False)
    (tmp_path / "file").write_text("x")
    done = kgbench(*words, "--store", "store", code=2, env=WIDE)

    assert message in done.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("made", [False, True])
def test_a_suite_of_published_cases_says_what_to_import(made, tmp_path):
    """Without imported results, a run in their suite starts nothing and names the commands."""
    place = tmp_path / "store"
    if made:
        open_store(str(place)).close()
    words = ("run", "--suite", "llm-kg-bench-3", "-m", "baseline:oracle", "--store", place)
    done = kgbench(*words, code=1)

    assert isinstance(done.exception, TaskError)
    assert re.search("there is no store|has none", str(done.exception))
    assert "kgbench import llm-kg-bench PATH" in str(done.exception)
    assert place.exists() == made
