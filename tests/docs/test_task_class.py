# SPDX-License-Identifier: Apache-2.0
"""``docs/new-task-class.md``: its package works as shown, open and encrypted."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from kgbench.rdf import digest
from kgbench.rdf.declared import quads
from tests.support import documented_package
from tests.support.validation import report

KEY = "the key of a private benchmark"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package of the page, on the module path of child processes."""
    return documented_package.write(tmp_path_factory.mktemp("package"))


def kgbench(package: Path, *arguments: str, code: int = 0, **variables: str) -> str:
    """Return the output of a command, or its error message."""
    done = documented_package.python(package, "-m", "kgbench", *arguments, **variables)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else done.stdout


def test_it_is_a_declaration_and_a_short_module() -> None:
    """The module has fewer than 100 lines, and is the only Python code of the page."""
    files = documented_package.files()
    assert len(files["turtle_object_list/judge.py"].splitlines()) < 100
    assert [name for name in files if name.endswith(".py")] == ["turtle_object_list/judge.py"]


def test_the_declaration_conforms() -> None:
    """The declaration of the page conforms to the shape of a task description."""
    text = documented_package.files()["turtle_object_list/task.ttl"]
    assert report(quads(text.encode()), "tasks") == []


def test_the_contract_is_kept(package: Path) -> None:
    """The test on the page passes."""
    done = documented_package.python(
        package, "-m", "pytest", "-q", "-p", "no:randomly", "source/test_turtle_object_list.py"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_commands_work(package: Path) -> None:
    """The commands of the page list the task and run it with the best score."""
    page = documented_package.PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ kgbench ((?:tasks list|run).*)$", page, re.MULTILINE)
    listed, ran = [kgbench(package, *shlex.split(command)) for command in commands]
    assert "TurtleObjectList-terse" in listed
    assert "1.000" in ran
    rows = json.loads(kgbench(package, "analyze", "tasks", "--format", "json"))
    found = rows["rows"] if isinstance(rows, dict) else rows
    assert {row["task"] for row in found} == {"TurtleObjectList", "TurtleObjectList-terse"}
    assert {row["mean"] for row in found} == {1.0}


def test_results_are_read_without_the_package(package: Path, tmp_path: Path) -> None:
    """Scores and answers need no code; judging says which class it has no code for."""
    run = ("run", "--task", "TurtleObjectList", "--iterations", "2", "--store", str(tmp_path))
    kgbench(package, *run, "--model", "baseline:oracle")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store = ("--store", str(tmp_path))

    assert "1.000" in kgbench(elsewhere, "leaderboard", *store)
    listed = kgbench(elsewhere, "dialogues", *store)
    shown = re.search(r"kgbench show (\S+)", listed)
    assert shown
    assert "Aarvik" in kgbench(elsewhere, "show", shown[1], *store)
    again = kgbench(elsewhere, "reevaluate", *store)
    assert "2 dialogues left out: no code for the task class TurtleObjectList" in again


#: Prints the reference values and differences that the pages of all dialogues show.
BESIDE = """
import json
from pathlib import Path
import kgbench
from kgbench.pages.conversation import conversation
from kgbench.pages.things import open_newest

with kgbench.open("beside") as results:
    view = open_newest(Path("beside/snapshots"), results.store.iris.base)
    for iri in results.dialogues().iris:
        page = conversation(view, iri, reveal=True)
        (one,) = page["rounds"]
        assert len(one["differences"]) == bool(one["turn"].answer)
        for found in one["differences"]:
            print(json.dumps([one["turn"].answer, page["expected"], found.missing, found.surplus]))
"""


def test_what_was_expected_stands_beside_answers(package: Path) -> None:
    """Missing and surplus values are shown by the fields that the page declares."""
    run = ("run", "--task", "TurtleObjectList", "--iterations", "4", "--store", "beside")
    kgbench(package, *run, "--model", "baseline:noisy?rate=1&seed=1", "--model", "baseline:oracle")
    done = documented_package.python(package, "-c", BESIDE)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(missing for _, _, missing, _ in rows)
    assert any(not missing and not surplus for _, _, missing, surplus in rows)
    for answer, ((title, wanted),), missing, surplus in rows:
        given = {line.strip().removeprefix(":") for line in answer.splitlines()} - {""}
        assert title == "Reference values: objects"
        assert missing == sorted(set(wanted.split()) - given)
        assert surplus == sorted(given - set(wanted.split()))


def test_a_private_benchmark_is_run_with_its_key(tmp_path: Path) -> None:
    """An encrypted package has the same cases with its key, and none without it."""
    package = documented_package.write(tmp_path)
    show = ("tasks", "show", "TurtleObjectList", "--json")
    before = kgbench(package, *show)
    folder = package / "turtle_object_list"
    kgbench(package, "tasks", "encrypt", "--yes", str(folder), KGBENCH_TASK_KEY=KEY)
    files = [path for path in folder.iterdir() if path.is_file()]
    assert {path.name for path in files if path.suffix not in {".enc", ".py"}} == {"task.ttl"}
    assert "Aarvik" not in "".join(path.read_text() for path in files)
    assert kgbench(package, *show, KGBENCH_TASK_KEY=KEY) == before
    run = ("run", "--task", "TurtleObjectList", "--model", "baseline:oracle", "--iterations", "2")
    for variables in ({}, {"KGBENCH_TASK_KEY": "a key of somebody else"}):
        refused = kgbench(package, *run, code=1, **variables)
        assert "cases.json.enc is encrypted with a key that was not given" in refused
        assert "KGBENCH_TASK_KEY" in refused
        two = (*run, "--task", "RdfFriendCount-turtle-1")
        assert "left out: " in kgbench(package, *two, **variables)
        listed = json.loads(kgbench(package, "tasks", "list", "--json", **variables))
        assert {task["class"] for task in listed if task["sealed"]} == {"TurtleObjectList"}
        assert "RdfFriendCount" in {task["class"] for task in listed}
        shown = documented_package.python(package, "-m", "kgbench", *show, **variables)
        assert "TurtleObjectList is sealed" in shown.stderr
        assert not json.loads(shown.stdout)["prompt"]
    assert "1.000" in kgbench(package, *run, KGBENCH_TASK_KEY=KEY)
    (package / "my.key").write_text(f"{KEY}\n")
    given = ("--key-file", "my.key")
    assert kgbench(package, *show, *given) == before
    assert "0 calls" in kgbench(package, *run, *given)
    again = kgbench(package, *run, "--new", *given)
    assert "2 calls" in again, again
    assert "key that was not given" in kgbench(package, "reevaluate")
    assert "key that was not given" not in kgbench(package, "reevaluate", *given)
    (package / "config.yaml").write_text(
        "iterations: 1\ntasks: [TurtleObjectList]\nmodels: ['baseline:oracle']\n"
    )
    assert "cannot be run here" in kgbench(package, "validate", "config.yaml")
    assert "cannot be run here" not in kgbench(package, "validate", "config.yaml", *given)
    assert digest(KEY) not in (package / "turtle_object_list" / "cases.json.enc").read_text()


def test_encrypted_feedback_reaches_the_judge(tmp_path: Path) -> None:
    """A judge reads an encrypted text in its process, with the key."""
    package = documented_package.write(tmp_path)
    module = package / "turtle_object_list/judge.py"
    text = module.read_text().replace('{"listed": listed}', '{"note": self.file("note.txt")}')
    module.write_text(text)
    note = package / "turtle_object_list" / "note.txt"
    note.write_text("read under lock\n")
    kgbench(package, "tasks", "encrypt", "--yes", str(note), KGBENCH_TASK_KEY=KEY)
    run = ("run", "--task", "TurtleObjectList", "--model", "baseline:oracle", "--iterations", "1")
    kgbench(package, *run, KGBENCH_TASK_KEY=KEY)
    query = "SELECT ?i WHERE { GRAPH ?g { ?e <https://w3id.org/kgbench/ns#infos> ?i } } "
    (package / "infos.rq").write_text(query)
    assert "read under lock" in kgbench(package, "query", "infos.rq", "--format", "csv")


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (
            ("turtle_object_list/judge.py", "import no_such_module\n"),
            "No module named 'no_such_module'",
        ),
        (("turtle_object_list/task.ttl", "@prefix\n"), "task.ttl"),
    ],
)
def test_a_broken_package_breaks_nothing_else(
    tmp_path: Path, spoilt: tuple[str, str], why: str
) -> None:
    """An unusable task class of another package gives a reason; all other classes work."""
    package = documented_package.write(tmp_path)
    (package / spoilt[0]).write_text(spoilt[1])
    listed = documented_package.python(package, "-m", "kgbench", "tasks", "list")
    assert "RdfFriendCount-turtle-1" in listed.stdout
    assert "TurtleObjectList cannot be used" in listed.stderr
    assert why in listed.stderr
    run = ("run", "--model", "baseline:oracle", "--iterations", "1", "--task")
    assert "1.000" in kgbench(package, *run, "RdfFriendCount-turtle-1")
    assert "TurtleObjectList" in kgbench(package, *run, "TurtleObjectList", code=1)


def test_a_package_without_its_folder_says_so(tmp_path: Path) -> None:
    """A wheel that lacks task.ttl is named by the commands that look for the task."""
    package = documented_package.write(tmp_path)
    (package / "turtle_object_list" / "task.ttl").unlink()
    for words in (("list", "TurtleObjectList*"), ("list",), ("show", "TurtleObjectList")):
        done = documented_package.python(package, "-m", "kgbench", "tasks", *words)
        assert "TurtleObjectList cannot be used" in done.stderr
        assert "name the folder turtle_object_list/ among the files of the package" in done.stderr
        assert done.returncode == (0 if words == ("list",) else 1)
