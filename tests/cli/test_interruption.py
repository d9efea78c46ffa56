# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C gives a one-line message and exit code 130, and leaves the store consistent.

Commands that read what others made end at Ctrl-C and at their time limit, whatever they do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

import pytest

from kgbench import __main__ as program
from kgbench.children.child import command
from kgbench.cli.commands import _GRACE, INTERRUPTED, supervised
from kgbench.errors import StoreError
from kgbench.store import SnapshotReader, maintenance, open_reader
from kgbench.store.embedded import EmbeddedStore
from tests.support.archives import record_v3, write_json
from tests.support.commands import kgbench

PATIENCE = 300  # seconds for another process to get this far
STATE = {"owner", "lock", "journal-main"}  # files by which `publish` knows its own folder
SITE = ("--base", "http://example.org/results/")
RUN = ("run", "-m", "baseline:oracle", "-m", "baseline:noisy?rate=0.5&seed=3")
#: A child in native code, which runs no signal handler of Python, with a temporary file.
BUSY = (
    "import os, tempfile; from kgbench.cli.commands import end_after, supervised;"
    "assert supervised(['harvest']) is None;"
    "tempfile.NamedTemporaryFile(delete=False); {}; sum(range(10**15))"
)


def interrupt(*_, **__):
    """Raise KeyboardInterrupt, as Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store with a small run."""
    location = tmp_path_factory.mktemp("interrupted") / "results"
    kgbench(*RUN, "-t", "RdfFriendCount-turtle-1", "--store", location)
    return location


@pytest.mark.parametrize(
    "words",
    [
        "import llm-kg-bench {file}",
        "import inspect {file}",
        "export prov",
        "export rocrate --out {new} --licence MIT",
        "export croissant --out {new} --licence MIT",
        "export eee --out {new}",
        "export llm-kg-bench",
        "publish --out {new} --base http://example.org/ --licence MIT --creator Ada",
        "reevaluate",
        "analyze leaderboard",
        "compare baseline:oracle baseline:noisy",
        "store copy {store} {new}",
        "store backup {new}.nq.gz",
        "invalidate RUN --reason none",
        "status",
        "query list-models",
    ],
)
def test_every_command_says_in_one_line_that_it_was_interrupted(
    store, tmp_path, monkeypatch, words
):
    """At any time, Ctrl-C ends a command with 130 and one line, and nothing new is written."""
    file = write_json(tmp_path / "published.json", [record_v3()])
    for opened in (EmbeddedStore, SnapshotReader):
        monkeypatch.setattr(opened, "__init__", interrupt)
    monkeypatch.setenv("KGBENCH_STORE", str(store))
    given = [word.format(file=file, new=tmp_path / "new", store=store) for word in words.split()]
    done = kgbench(*given, code=130)

    assert (done.stdout, done.stderr) == ("", f"{INTERRUPTED}\n")
    found = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert found - STATE == {file.name}


@pytest.mark.parametrize("words", ["import llm-kg-bench", "import rdf", "reevaluate", "store copy"])
def test_what_was_stored_is_whole_and_the_command_can_be_given_again(
    store, tmp_path, monkeypatch, words
):
    """Content loaded before Ctrl-C is not registered; repeating the command loads all of it."""
    target = tmp_path / "store"
    file = write_json(tmp_path / "published.json", [record_v3()])
    if words == "import rdf":
        kgbench("store", "backup", tmp_path / "results.nq.gz", "--store", store)
    if words == "reevaluate":
        kgbench(*RUN, "-t", "RdfFriendCount-turtle-1", "--store", target)
    command = {
        "import llm-kg-bench": ["import", "llm-kg-bench", file, "--store", target],
        "import rdf": ["import", "rdf", tmp_path / "results.nq.gz", "--store", target],
        "reevaluate": ["reevaluate", "--store", target],
        "store copy": ["store", "copy", store, target, "--quiet"],
    }[words]
    load = EmbeddedStore.bulk_load

    def loaded_then_interrupted(self, blocks):
        load(self, blocks)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedStore, "bulk_load", loaded_then_interrupted)
        interrupted = kgbench(*command, code=130)
    if words == "reevaluate":
        with open_reader(str(target)) as reader:
            between = maintenance.check(reader).graphs
    else:  # a new store is removed
        between = 0
        with pytest.raises(StoreError, match="there is no store"):
            open_reader(str(target))
    kgbench(*command)
    with open_reader(str(target)) as reader:
        after = maintenance.check(reader)

    assert interrupted.stderr == f"{INTERRUPTED}\n"
    assert after.problems == []
    assert after.graphs > between


def test_ctrl_c_while_the_program_is_loaded_is_one_line(monkeypatch, capsys):
    """Ctrl-C while the program is loaded gives exit code 130, and no traceback."""
    monkeypatch.setitem(sys.modules, "kgbench.cli", SimpleNamespace(main=interrupt))
    with pytest.raises(SystemExit) as ended:
        program.main()

    assert ended.value.code == 130
    assert capsys.readouterr().err == "kgbench: interrupted\n"


def children(process):
    """Return the number of child processes of another process."""
    told = subprocess.run(
        ["ps", "-A", "-o", "ppid="], capture_output=True, text=True, check=True
    ).stdout
    return told.split().count(str(process))


def test_ctrl_c_at_a_terminal_ends_a_publication_and_its_processes_quietly(tmp_path):
    """Ctrl-C on a terminal also ends the worker processes of a publication, without output."""
    store, out = tmp_path / "store", tmp_path / "site"
    kgbench("run", "--iterations", "4", "--store", store)
    words = ["publish", "--store", store, "--out", out, *SITE]
    with subprocess.Popen(
        [sys.executable, "-m", "kgbench", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as publishing:
        deadline = time.monotonic() + PATIENCE
        while children(publishing.pid) == 0 and publishing.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)  # polling also takes time that the other process needs
        os.killpg(publishing.pid, signal.SIGINT)
        _, said = publishing.communicate(timeout=PATIENCE)

    *notes, last = said.splitlines()
    assert (publishing.returncode, last) == (130, INTERRUPTED)
    assert all(note.startswith("note ") for note in notes), said
    kgbench(*words, "--processes", "1")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Return the folder for temporary files, and run ``BUSY`` instead of kgbench."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(then):
        script = BUSY.format(then)
        monkeypatch.setattr(
            "kgbench.cli.commands.command", lambda *_: [sys.executable, "-c", script]
        )
        return tmp_path

    return run


def test_ctrl_c_ends_native_code(scratch, monkeypatch, capfd):
    """Ctrl-C during native code ends the child, and its temporary files are removed."""
    folder = scratch(f"print(file=os.fdopen({(pipe := os.pipe())[1]}, 'w'))")
    start = subprocess.Popen

    def interrupted(words, **how):
        child = start(words, **how, pass_fds=(pipe[1],))
        os.close(pipe[1])
        assert os.read(pipe[0], 1) == b"\n"
        assert list(folder.glob("kgbench-*/*"))
        wait = child.wait
        monkeypatch.setattr(
            child, "wait", lambda timeout=None: wait(timeout) if timeout else stop()
        )
        return child

    def stop():
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    assert supervised(["harvest", "x"]) == 130
    assert capfd.readouterr().err == f"{INTERRUPTED}\n"
    assert list(folder.iterdir()) == []


def test_the_time_limit_ends_native_code(scratch, capfd):
    """Native code ends at the time limit, too, and the message names the option."""
    folder = scratch(f"end_after({0.01 - _GRACE})")

    assert supervised(["import", "rdf", "x"]) == 1
    assert "raise --seconds" in capfd.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["run"], ["publish", "--out", "x"], ["--help"]])
def test_other_commands_run_in_this_process(words):
    """Commands that read only what is ours are not supervised."""
    assert supervised(words) is None


def test_a_command_gives_its_exit_code_and_output():
    """The child's output and exit code are those of the command."""
    done = subprocess.run(
        [*command("kgbench"), "datasets", "show", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kgbench: there is no data set 'nowhere'; there are: ")
