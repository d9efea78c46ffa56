# SPDX-License-Identifier: Apache-2.0
"""Shells complete commands, options and local argument values, without contacting servers."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgbench.cli import app, options
from kgbench.record import reading
from kgbench.store import open_reader

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text("utf-8")
#: The code of the console script, run under its name.
KGBENCH = "import sys; sys.argv[0] = 'kgbench'; from kgbench.cli import main; main()"


def kgbench(*words, **variables):
    """Return the program's output when a shell calls it; the bash test uses a real shell."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.setattr(sys, "argv", ["kgbench", *words])
        patch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
        for name, value in variables.items():
            patch.setenv(name, value)
        with contextlib.suppress(SystemExit):
            app(prog_name="kgbench")
    return said.getvalue()


def completed(shell, line, **variables):
    """Return the completions of the last, unfinished word of a line in ``shell``."""
    words = line.split(" ")
    by_shell = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    return kgbench(_KGBENCH_COMPLETE=f"complete_{shell}", **by_shell[shell], **variables)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store with one run, and the id of the run."""
    place = tmp_path_factory.mktemp("completion") / "results"
    words = ("run", "--task", "FactExtractStatic", "--model", "baseline:silent", "-n", "1")
    kgbench(*words, "--store", str(place))
    with open_reader(str(place)) as reader:
        return place, reading.runs(reader)[0].id


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_and_completes_labels(shell):
    """The script names the program; commands and task labels are completed."""
    script = kgbench("--show-completion", shell)

    assert "_KGBENCH_COMPLETE" in script
    assert "reevaluate" in completed(shell, "kgbench re")
    labels = completed(shell, "kgbench run --task RdfFriendCount-t")
    assert set(re.findall(r"Rdf[\w-]+", labels)) == {
        "RdfFriendCount-turtle-1",
        "RdfFriendCount-turtle-2",
    }


def test_bash_takes_the_script(tmp_path):
    """A real bash reads the script, and its function completes words."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    program = tmp_path / "kgbench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{KGBENCH}" "$@"\n')
    program.chmod(0o755)
    typed = """
        eval "$(kgbench --show-completion bash)"
        COMP_WORDS=(kgbench query score-r) COMP_CWORD=2
        _kgbench_completion kgbench
        echo "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    environment["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    done = subprocess.run(
        [bash, "--norc", "-c", typed], env=environment, capture_output=True, text=True, check=False
    )

    assert done.stdout.split() == ["score-rows"], done.stderr


def test_models_and_data_sets():
    """Baselines are completed whole, connectors up to the colon, data sets by name."""
    assert options.complete_models("baseline:o") == ["baseline:oracle"]
    assert "openai:" in options.complete_models("")
    assert options.complete_data_sets("text") == ["text2kgbench"]
    assert "score-rows" in options.complete_queries("score")


def test_runs_of_the_store(store, tmp_path):
    """Ids of runs are completed from the selected store, if it exists."""
    place, run = store

    assert run in completed("zsh", f"kgbench status --store {place} ")
    assert run in completed("bash", f"kgbench run --run {run[:5]}", KGBENCH_STORE=str(place))
    assert run not in completed("zsh", "kgbench status zzz", KGBENCH_STORE=str(place))
    assert options._runs(str(tmp_path / "nowhere")) == []
    assert not (tmp_path / "nowhere").exists()


def test_no_server_is_asked_and_no_store_put_in_order(store, monkeypatch):
    """No completions come from a store on a server, or from one that was not closed properly."""
    monkeypatch.setattr("kgbench.store.open_reader", lambda _: pytest.fail("it was opened"))
    (store[0] / "dirty").touch()
    try:
        assert options._runs("http://127.0.0.1:9/sparql") == []
        assert options._runs(str(store[0])) == []
    finally:
        (store[0] / "dirty").unlink()


def test_the_page_is_true():
    """Every completion that the page promises works."""
    assert {"--install-completion", "--show-completion"} <= set(re.findall(r"--[a-z-]+", PAGE))
    shown = kgbench("--help")
    assert "--install-completion" in shown
    for line, expected in (
        ("tasks show FactEx", "FactExtractStatic"),
        ("tasks list FactEx", "FactExtractStatic"),
        ("datasets install text", "text2kgbench"),
        ("run -m baseline:s", "silent"),
    ):
        assert expected in completed("zsh", f"kgbench {line}"), line
