# SPDX-License-Identifier: Apache-2.0
"""Reports of the doctor about a faulty installation, judge or store."""

from __future__ import annotations

import io
import shutil
import sys

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from kgbench import doctor
from kgbench.cli import app
from kgbench.cli import doctor as command
from kgbench.doctor import Condition, State, installed, judging, keys, storage
from kgbench.execution.judging import JudgeLimits, end_child, judge_batch
from kgbench.software import Software
from kgbench.store import open_store, snapshots
from tests.store.in_process import InProcess

ANSWERS = Condition("judging", "answers", State.OK, "right " * 20, "none " * 3)


@pytest.fixture
def location(tmp_path):
    """Return the location of a sound, empty store."""
    place = tmp_path / "results"
    open_store(str(place)).close()
    return place


def by_name(conditions):
    """Return conditions by their names."""
    return {condition.name: condition for condition in conditions}


# --- the command ------------------------------------------------------------------------------


def test_servers_are_asked_with_leave_only(location, monkeypatch):
    """Without ``network`` no server is contacted, with it those that the environment names."""
    for module, others in (
        (installed, ("extras", "dependencies")),
        (judging, ("judging", "lockdown")),
    ):
        for each in others:
            monkeypatch.setattr(module, each, lambda: iter(()))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    alone = list(doctor.examine(str(location)))
    asked = list(doctor.examine(str(location), network=True))

    assert "servers" not in {condition.part for condition in alone}
    (server,) = (condition for condition in asked if condition.part == "servers")
    assert (server.name, server.state) == ("OPENAI_BASE_URL", State.BROKEN)
    assert by_name(keys.servers()) == {"OPENAI_BASE_URL": server}


def test_nothing_broken_is_said_and_each_part_named_once(monkeypatch):
    """The exit code is 0 if nothing is broken; without a terminal no line is folded."""
    lock = Condition("judging", "lockdown", State.NOTE, "it holds")
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: iter([ANSWERS, lock]))
    answer = CliRunner().invoke(app, ["doctor"], env={"NO_COLOR": "1"})

    assert answer.exit_code == 0, answer.output
    assert answer.output.splitlines() == [
        "judging",
        f"  ok      answers         {ANSWERS.words}",
        f"{'':26}{ANSWERS.advice}",
        "  note    lockdown        it holds",
        "",
        "nothing is broken",
    ]


def test_words_are_folded_to_the_terminal(monkeypatch):
    """On a terminal the text has its own column, and each line fits the width."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    command._print(ANSWERS, first=True)
    lines = terminal.getvalue().splitlines()

    assert max(map(len, lines)) <= 60
    assert sum(line.count("right") for line in lines) == 20
    assert all(line.startswith(" " * 26) for line in lines[2:])


# --- what is installed ------------------------------------------------------------------------


def test_outside_of_a_checkout_no_commit_is_told(monkeypatch):
    """Outside a checkout kgbench has a version and no commit."""
    monkeypatch.setattr(installed, "this_software", lambda: Software("kgbench", "1.2.3"))
    found = by_name(installed.software())["kgbench"]

    assert found.words.startswith("1.2.3, in ")
    assert found.facts["commit"] is None


def test_a_distribution_with_the_same_module_is_found(tmp_path, monkeypatch):
    """An extra counts as installed if another distribution provides its module."""
    (tmp_path / "nothing_yet").mkdir()
    (tmp_path / "nothing_yet" / "__init__.py").touch()
    about = tmp_path / "nothing_yet_cpu-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nothing-yet-cpu\nVersion: 1.5\n")
    (about / "RECORD").write_text("nothing_yet/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installed, "_extras", lambda: ["later"])
    monkeypatch.setattr(installed, "_of_extra", lambda _: [Requirement("nothing-yet>=1.2")])
    monkeypatch.setattr(installed, "_importing", lambda _: {})
    (found,) = installed.extras()

    assert (found.state, found.words) == (State.OK, "nothing-yet-cpu 1.5")
    assert found.facts == {"nothing-yet": "1.5"}


def test_dependencies_that_are_missing_or_broken_are_named(tmp_path, monkeypatch):
    """Each broken dependency has a command that repairs it, and the summary is omitted."""
    (tmp_path / "rdflib.py").write_text("raise ImportError('libnothing.so')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    needed = (Requirement("no-such-distribution-here"), Requirement("rdflib>=7"))
    monkeypatch.setattr(installed, "_requirements", lambda: needed)
    found = by_name(installed.dependencies())

    assert {name: one.state for name, one in found.items()} == {
        "no-such-distribution-here": State.BROKEN,
        "rdflib": State.BROKEN,
    }
    assert found["rdflib"].words == "cannot be imported: ImportError: libnothing.so"
    assert found["rdflib"].advice.endswith("--force-reinstall rdflib")
    assert found["no-such-distribution-here"].words == "is missing"


def test_an_extra_that_cannot_be_imported_is_broken():
    """An installed extra that fails is distinguished from a missing one."""
    found = installed._extra("plots", [Requirement("rdflib>=7")], {"rdflib": "OSError: no"})

    assert found.state is State.BROKEN
    assert found.words == "rdflib cannot be imported: OSError: no"
    assert found.advice.endswith("--force-reinstall rdflib")


def test_an_import_without_end_is_given_up(monkeypatch):
    """An import that does not end is stopped; each pending package is reported."""
    monkeypatch.setattr(installed, "_LIMIT", 0.0)

    assert installed._importing(["json"]) == {"json": "importing takes more than 0 s"}


def test_a_python_that_ends_before_it_imports_anything_is_told(tmp_path, monkeypatch):
    """If Python ends before any import, every package reports how the process ended."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = "importing ended the process (exit status 7)"

    assert installed._importing(["json", "csv"]) == {"json": said, "csv": said}


# --- judging ----------------------------------------------------------------------------------


def test_a_child_that_cannot_be_started_is_broken(monkeypatch):
    """If no worker process can be started, the doctor reports it and exits normally."""
    end_child()
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    (found,) = judging.judging()

    assert (found.name, found.state) == ("answers", State.BROKEN)
    assert found.words.startswith("answers cannot be judged: ")


def test_a_limit_of_time_without_effect_is_broken(monkeypatch):
    """An answer that is judged without any time shows that the time limit has no effect."""

    def patient(requests, _):
        return judge_batch(requests, JudgeLimits())

    monkeypatch.setattr(judging, "judge_batch", patient)
    (found,) = judging.judging()

    assert found.state is State.BROKEN
    assert found.words == "a judging process that exceeds its time limit is not stopped"


# --- the store --------------------------------------------------------------------------------


def test_an_address_that_describes_no_server_is_broken():
    """An address that cannot be a store is reported before any request."""
    (found,) = storage.store("http://127.0.0.1:9/sparql?engine=abacus", network=True)

    assert (found.name, found.state) == ("location", State.BROKEN)
    assert "abacus" in found.words


def test_a_server_that_is_written_to_is_sound():
    """The current writer of a store on a server is reported with its content."""
    with InProcess() as server, open_store(server.url):
        found = by_name(storage.store(server.url, network=True))

    assert found["content"].state is State.OK
    assert f"; being written by {found['content'].facts['writer']}" in found["content"].words


def test_a_store_that_was_left_open_and_has_little_room(location, monkeypatch):
    """Files that the last writer left open are a note, and so is a disk that is nearly full."""
    snapshots.mark_dirty(location, dirty=True)
    monkeypatch.setattr(storage, "_LOW_SPACE", 1 << 70)
    found = by_name(storage.store(str(location), network=False))

    assert {found["owner"].state, found["space"].state} == {State.NOTE}
    assert "no acknowledged write is lost" in found["owner"].words
    assert found["space"].words.startswith("only ")
    assert found["content"].state is State.OK


def test_files_that_go_while_they_are_counted_do_not_count(location):
    """Files that another process removes during the count, even the lock, are ignored."""
    before = storage._sizes(location)
    (location / "vanished").symlink_to(location / "nothing")

    assert storage._sizes(location) == before
    assert storage._owner(location / "nothing") is None


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 << 29, "2.5 GiB"),
        (1 << 50, "1024.0 TiB"),
    ],
)
def test_sizes_have_the_unit_that_fits(count, words):
    """The number before the unit is below 1,024 if there is a larger unit."""
    assert storage._size(count) == words
