# SPDX-License-Identifier: Apache-2.0
"""Commands that read what others made end at Ctrl-C and at their time limit, whatever they do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kgbench.children import commands
from kgbench.cli import interruption
from kgbench.cli.interruption import INTERRUPTED, supervised

#: A child in native code, which runs no signal handler of Python, with a temporary file.
BUSY = (
    "import os, tempfile; from kgbench.cli.interruption import end_after, supervised;"
    "assert supervised(['harvest']) is None;"
    "tempfile.NamedTemporaryFile(delete=False); {}; sum(range(10**15))"
)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Return the folder for temporary files, and run ``BUSY`` instead of kgbench."""
    monkeypatch.setattr(interruption.tempfile, "tempdir", str(tmp_path))

    def run(then):
        script = BUSY.format(then)
        monkeypatch.setattr(commands, "command", lambda *_: [sys.executable, "-c", script])
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
    folder = scratch(f"end_after({0.01 - interruption._GRACE})")

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
        [*commands.command("kgbench"), "datasets", "show", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kgbench: there is no data set 'nowhere'; there are: ")
