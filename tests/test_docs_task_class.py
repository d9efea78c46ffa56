# SPDX-License-Identifier: Apache-2.0
"""``docs/new-task-class.md``: its package works as it stands, open and encrypted."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from kgbench import shapes
from kgbench.rdf import digest
from tests import documented_package

KEY = "the key of a private benchmark"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, on the path of the processes that tests start."""
    return documented_package.write(tmp_path_factory.mktemp("package"))


def kgbench(package: Path, *arguments: str, code: int = 0, **variables: str) -> str:
    """What a command prints, or the message it fails with."""
    done = documented_package.python(package, "-m", "kgbench", *arguments, **variables)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else done.stdout


def test_it_is_one_folder_and_a_short_module() -> None:
    """The module has fewer than 100 lines, and nothing else is Python but its test."""
    files = documented_package.files()
    assert len(files["turtle_objects.py"].splitlines()) < 100
    python = [name for name in files if name.endswith(".py")]
    assert python == ["turtle_objects.py", "test_turtle_objects.py"]


def test_the_declaration_conforms() -> None:
    """What the page declares has the shape of a task description."""
    import pyoxigraph as ox

    text = documented_package.files()["turtle_objects/task.ttl"]
    triples = [quad.triple for quad in ox.parse(text.encode(), ox.RdfFormat.TURTLE)]
    assert shapes.report(triples, "tasks") == []


def test_the_contract_is_kept(package: Path) -> None:
    """The test that the page shows passes."""
    done = documented_package.python(
        package, "-m", "pytest", "-q", "-p", "no:randomly", "test_turtle_objects.py"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_commands_work(package: Path) -> None:
    """The commands of the page list the task and run it with the best score."""
    page = documented_package.PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ kgbench (.*)$", page, re.MULTILINE)
    listed, ran = [kgbench(package, *shlex.split(command)) for command in commands]
    assert "TurtleObjectList-terse" in listed
    assert "1.000" in ran
    rows = json.loads(kgbench(package, "analyze", "tasks", "--format", "json"))
    found = rows["rows"] if isinstance(rows, dict) else rows
    assert {row["task"] for row in found} == {"TurtleObjectList", "TurtleObjectList-terse"}
    assert {row["mean"] for row in found} == {1.0}


@pytest.mark.slow
def test_a_private_benchmark_is_run_with_its_key(tmp_path: Path) -> None:
    """Encrypted with one's own key the package gives the same cases, and none without the key."""
    package = documented_package.write(tmp_path)
    show = ("tasks", "show", "TurtleObjectList", "--json")
    before = kgbench(package, *show)
    folder = package / "turtle_objects"
    kgbench(package, "tasks", "encrypt", str(folder), KGBENCH_TASK_KEY=KEY)
    assert not [p.name for p in folder.iterdir() if p.suffix != ".enc" and p.name != "task.ttl"]
    assert "Aarvik" not in "".join(path.read_text() for path in folder.iterdir())
    assert kgbench(package, *show, KGBENCH_TASK_KEY=KEY) == before
    run = ("run", "--task", "TurtleObjectList", "--model", "baseline:oracle", "--iterations", "2")
    for variables in ({}, {"KGBENCH_TASK_KEY": "a key of somebody else"}):
        refused = kgbench(package, *run, code=1, **variables)
        assert "cases.json.enc was encrypted with another key" in refused
        assert "KGBENCH_TASK_KEY" in refused
    assert "1.000" in kgbench(package, *run, KGBENCH_TASK_KEY=KEY)
    assert digest(KEY) not in (package / "turtle_objects" / "cases.json.enc").read_text()


@pytest.mark.slow
def test_encrypted_feedback_reaches_the_judge(tmp_path: Path) -> None:
    """A judge reads an encrypted text in its process, which is handed the key but not in words."""
    package = documented_package.write(tmp_path)
    module = package / "turtle_objects.py"
    text = module.read_text().replace(
        '{"surplus": len(given - wanted)}', '{"note": texts.text(NAME, "note.txt")}'
    )
    module.write_text(text)
    note = package / "turtle_objects" / "note.txt"
    note.write_text("read under lock\n")
    kgbench(package, "tasks", "encrypt", str(note), KGBENCH_TASK_KEY=KEY)
    run = ("run", "--task", "TurtleObjectList", "--model", "baseline:oracle", "--iterations", "1")
    kgbench(package, *run, KGBENCH_TASK_KEY=KEY)
    query = "SELECT ?i WHERE { GRAPH ?g { ?e <https://w3id.org/kgbench/ns#infos> ?i } } "
    (package / "infos.rq").write_text(query)
    assert "read under lock" in kgbench(package, "query", "infos.rq", "--format", "csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (("turtle_objects.py", "import no_such_module\n"), "No module named 'no_such_module'"),
        (("turtle_objects/task.ttl", "@prefix\n"), "task.ttl"),
    ],
)
def test_a_broken_package_breaks_nothing_else(
    tmp_path: Path, spoilt: tuple[str, str], why: str
) -> None:
    """A class of others that cannot be used says why; all other classes can be used."""
    package = documented_package.write(tmp_path)
    (package / spoilt[0]).write_text(spoilt[1])
    listed = documented_package.python(package, "-m", "kgbench", "tasks", "list")
    assert "RdfFriendCount-turtle-1" in listed.stdout
    assert "TurtleObjectList cannot be used" in listed.stderr
    assert why in listed.stderr
    run = ("run", "--model", "baseline:oracle", "--iterations", "1", "--task")
    assert "1.000" in kgbench(package, *run, "RdfFriendCount-turtle-1")
    assert "TurtleObjectList" in kgbench(package, *run, "TurtleObjectList", code=1)
