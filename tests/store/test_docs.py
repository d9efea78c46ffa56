# SPDX-License-Identifier: Apache-2.0
"""``docs/remote-store.md``: its commands and its variables."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.store import back_ends, connections
from tests.store.servers import empty

PAGE = (Path(__file__).parents[2] / "docs" / "remote-store.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
SERVER = "http://localhost:7878"
STATUS = ["status", "--store", "results", "--json"]


@pytest.mark.declared
def test_all_commands_of_the_page_run(remote, tmp_path, monkeypatch):
    """All commands of the page succeed in turn, on a server and in folders."""
    monkeypatch.chdir(tmp_path)
    small = ["--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle", "-n", "2"]
    small += ["--executor", "local:1"]
    filling = "kgbench store copy results http://localhost:7878"
    of_kgbench = (one for one in COMMANDS if one.startswith("kgbench "))  # others measure
    for line in (one for one in of_kgbench if one != filling):
        words = shlex.split(line.replace(SERVER, remote))[1:]
        words = [newest() if word == "RUN" else word for word in words]
        if words[:2] == ["store", "optimize"]:
            run(["run", *small, "--store", "results"])
        run([*words, *(small if words[0] == "run" else ())])
    empty(remote)
    run(["run", *small, "--store", "results"])
    run(shlex.split(filling.replace(SERVER, remote))[1:])


def newest():
    """Return the newest run of the store that the page fills."""
    return json.loads(CliRunner().invoke(app, STATUS).stdout)[0]["run"]


def run(words):
    """Run a command that must succeed."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, done.exception)


def test_every_command_is_told_of():
    """The page shows exactly the commands of ``kgbench store``."""
    group = typer.main.get_command(app).commands["store"]
    told = set(re.findall(r"^kgbench store ([a-z]+)", "\n".join(COMMANDS), re.MULTILINE))

    assert told == set(group.commands)


def test_every_variable_is_told_of():
    """The page names exactly the variables that the code reads."""
    known = {
        *(connections.USER, connections.PASSWORD, connections.TOKEN, connections.WAY),
        *("KGBENCH_STORE_PATIENCE", "KGBENCH_STORE_TIMEOUT", "KGBENCH_STORE"),
    }

    assert set(re.findall(r"KGBENCH_[A-Z_]+", PAGE)) == known


def test_every_kind_of_server_is_told_of():
    """The table of addresses has exactly the declared kinds of servers."""
    rows = re.findall(r"^\| [^|]+ \| `(http\S+)` \|$", PAGE, re.MULTILINE)

    assert {back_ends.find(one).kind for one in rows} == set(back_ends._kinds())
    assert all(f"`{kind}`" in PAGE or f"engine={kind}`" in PAGE for kind in back_ends._kinds())
