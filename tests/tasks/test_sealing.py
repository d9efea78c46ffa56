# SPDX-License-Identifier: Apache-2.0
"""Encrypted task files open only with their key; other files have the canary."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kgbench import resources
from kgbench.cli import app
from kgbench.errors import ResourceError
from kgbench.tasks import catalogue, class_files, protection, texts

KEY = "a key that nobody else has"
OTHER = "another key, of somebody else"
DECLARATION = (
    "@prefix kgb: <https://w3id.org/kgbench/ns#> .\n"
    "<https://w3id.org/kgbench/task-class/Mine/1> a kgb:TaskClass .\n"
)
FILES = sorted(
    path
    for path in resources.files("tasks", "*/*")
    if path.is_file() and path.name != "task.ttl" and path.suffix not in {".sha256", ".py"}
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_files_with_prompts_and_data_are_guarded(path: Path) -> None:
    """Each file is encrypted or has the canary, which readers do not see."""
    content = path.read_text(encoding="utf-8")
    assert protection.canary_guid() in content
    name = path.name.removesuffix(protection.SUFFIX)
    read = texts.shared(path.parent.name, name)
    assert read.strip()
    if path.suffix == ".json":
        assert protection.canary_guid() not in str(texts.shared_structure(path.parent.name, name))
    else:
        assert protection.canary_guid() not in read


def test_references_are_encrypted() -> None:
    """Questions with reference queries, faults and reference graphs are encrypted."""
    open_files = [path.name for path in FILES if path.suffix != protection.SUFFIX]
    secret = re.compile(r"questions|faults|reference|document|sample")
    assert not [name for name in open_files if secret.search(name)]
    assert len(FILES) - len(open_files) == 10


def test_no_prompt_has_the_canary() -> None:
    """No prompt contains the canary or a hint at it."""
    for task in catalogue.labelled_tasks().values():
        module = catalogue.module(task.task_class)
        for case in module.cases(task, "kgbench-1", 0, 2):
            assert "canary" not in module.prompt(case)
            assert protection.canary_guid() not in json.dumps(case.data)


@given(st.binary(max_size=300), st.text("abc._", min_size=1))
def test_what_is_sealed_opens_again(content: bytes, name: str) -> None:
    """Encryption is reversible and deterministic, and hides the content."""
    sealed = protection.seal(name, content, KEY)
    assert protection.unseal("place", name, sealed, [OTHER, KEY]) == content
    assert sealed == protection.seal(name, content, KEY)
    assert sealed != protection.seal(name, content + b"x", KEY)
    assert sealed != protection.seal(name, content, OTHER)


def test_another_key_does_not_open() -> None:
    """Another key is refused; the message names the file and where to give a key."""
    sealed = protection.seal("cases.json", b"content", KEY)
    with pytest.raises(
        ResourceError, match=r"folder/cases.*key that was not given.*KGBENCH_TASK_KEY"
    ):
        protection.unseal("folder/cases.json.enc", "cases.json", sealed, [OTHER])


@given(st.data())
def test_damage_is_noticed(data: st.DataObject) -> None:
    """A file that was truncated, altered in one character, or renamed does not open."""
    sealed = protection.seal("cases.json", b"content" * 20, KEY)
    body = sealed.index("\n\n") + 2
    cut = data.draw(st.integers(0, len(sealed) - 2))
    k = data.draw(st.integers(body, len(sealed) - 2))
    flipped = sealed[:k] + ("A" if sealed[k] != "A" else "B") + sealed[k + 1 :]
    for name, spoilt in (
        ("cases.json", sealed[:cut]),
        ("cases.json", flipped),
        ("other.json", sealed),
    ):
        with pytest.raises(ResourceError, match="place"):
            protection.unseal("place", name, spoilt, [KEY])


def test_short_keys_are_refused() -> None:
    """A key that is short enough to guess is refused."""
    with pytest.raises(ResourceError, match="at least 20"):
        protection.seal("cases.json", b"", "password")


def test_own_and_published_keys_work_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment does not prevent reading kgbench's own files."""
    monkeypatch.setenv(protection.VARIABLE, KEY)
    assert protection.available_keys() == [KEY, protection.published_key()]
    assert texts._content(resources.folder("tasks") / "organisation" / "questions.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a task class with a declaration and two files."""
    found = tmp_path / "task"
    found.mkdir()
    (found / "task.ttl").write_text(DECLARATION)
    (found / "prompt.txt").write_text("Ask $this\n")
    (found / "cases.json").write_bytes(b'[\r\n{"a": 1}]\n')
    (tmp_path / "my.key").write_text(f"# mine\n\n{KEY}\n")
    return found


def run(*arguments: str | Path, code: int = 0) -> str:
    """Return the output of a command, or its error message."""
    found = CliRunner().invoke(app, list(map(str, arguments)))
    assert found.exit_code == code, found.output
    return found.output if found.exception is None else str(found.exception)


def test_a_folder_is_encrypted_and_decrypted(folder: Path) -> None:
    """Every file but the declaration is encrypted; decrypting restores the same bytes."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    key = ("--key-file", folder.parent / "my.key")
    assert "cases.json.enc" in run("tasks", "encrypt", "--yes", folder, *key)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["cases.json.enc", "prompt.txt.enc", "task.ttl"]
    assert b'"a"' not in (folder / "cases.json.enc").read_bytes()
    run("tasks", "decrypt", folder, *key)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_commands_refuse_with_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, with a wrong file, or with nothing to do, the command is refused."""
    monkeypatch.delenv(protection.VARIABLE, raising=False)
    prompt = folder / "prompt.txt"
    assert "KGBENCH_TASK_KEY" in run("tasks", "encrypt", prompt, code=1)
    monkeypatch.setenv(protection.VARIABLE, KEY)
    assert "without a key" in run("tasks", "encrypt", folder / "task.ttl", code=1)
    assert "nothing to decrypt" in run("tasks", "decrypt", folder, code=1)
    assert "is not encrypted" in run("tasks", "decrypt", prompt, code=1)
    run("tasks", "encrypt", "--yes", prompt)
    assert "already encrypted" in run("tasks", "encrypt", folder / "prompt.txt.enc", code=1)
    sealed = folder / "prompt.txt.enc"
    prompt.write_text("in the way")
    assert "exists" in run("tasks", "decrypt", sealed, code=1)
    assert "nothing" not in run("tasks", "encrypt", "--yes", prompt, code=1)
    assert sealed.is_file()
    with pytest.raises(ResourceError, match="both"):
        texts._content(prompt)
    prompt.unlink()
    monkeypatch.setenv(protection.VARIABLE, OTHER)
    assert "a key that was not given" in run("tasks", "decrypt", sealed, code=1)
    assert sealed.is_file()


def test_key_files_hold_one_key(tmp_path: Path) -> None:
    """A key file without a key, or with two, is refused by name."""
    file = tmp_path / "key"
    for text in ("", "# only a remark", "one\ntwo"):
        file.write_text(text)
        with pytest.raises(ResourceError, match="lines with a key"):
            protection.read_key_file(file)
    with pytest.raises(ResourceError, match="cannot be read"):
        protection.read_key_file(tmp_path / "none")


def test_a_missing_file_is_refused(folder: Path) -> None:
    """A missing file is refused by name."""
    with pytest.raises(ResourceError, match=r"missing\.txt cannot be read"):
        class_files.data_files([folder / "missing.txt"])


@pytest.fixture
def project(folder: Path) -> Path:
    """Return a project around the task folder: key, package, configurations, store, other files."""
    root = folder.parent
    others = {
        "pyproject.toml": "[project]\n",
        "notes.txt": "mine\n",
        "config.yaml": "models: []\n",
        "task/module.py": "NAME = 1\n",
        "task/pyproject.toml": "[project]\n",
        "task/README.md": "what it is\n",
        "task/copy-of-key.txt": f"{KEY}\n",
        "task/mine.key": "a key\n",
        "task/config.yaml": "models: []\n",
        "task/config.json": '{"models": ["baseline:oracle"]}\n',
        "task/config.ttl": "@prefix kgb: <https://w3id.org/kgbench/ns#> . [] a kgb:Configuration .",
        "task/.hidden.txt": "hidden\n",
        "task/build/left.txt": "built\n",
    }
    for name, content in others.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    (root / "task" / "more").mkdir()
    (root / "task" / "more" / "graph.ttl").write_text("[] a [] .\n")
    (root / "task" / "link.txt").symlink_to(root / "notes.txt")
    for place in (root / "kgbench-results", folder / "kgbench-results"):
        run(
            *("run", "--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle"),
            *("--iterations", "1", "--store", place),
        )
        (place / "left.txt").write_text("beside the database\n")
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Return every file of a folder with its content."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


DATA = ["task/cases.json", "task/more/graph.ttl", "task/prompt.txt"]


def test_only_data_of_task_classes_are_encrypted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, stores, configurations, code, links and unrelated files stay unencrypted."""
    monkeypatch.chdir(project)
    before = contents(project)
    key = ("--key-file", "my.key")
    assert run("tasks", "encrypt", ".", *key, "--dry-run").splitlines() == DATA
    assert contents(project) == before
    printed = run("tasks", "encrypt", ".", *key, "--yes").splitlines()
    assert printed == [f"{name}.enc" for name in DATA]
    after = contents(project)
    assert before.keys() - after.keys() == set(DATA)
    assert after.keys() - before.keys() == set(printed)
    assert all(after[name] == before[name] for name in before.keys() & after.keys())
    assert run("tasks", "decrypt", ".", *key).splitlines() == DATA
    assert contents(project) == before


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("my.key", "it is a key"),
        ("notes.txt", "no folder with a task.ttl"),
        ("task/copy-of-key.txt", "it holds the key"),
        ("pyproject.toml", "it is a configuration"),
        ("task/config.json", "it is a configuration"),
        ("task/module.py", "it is code"),
        ("task/link.txt", "it is a link"),
        ("task/kgbench-results/left.txt", "it belongs to a result store"),
    ],
)
def test_named_files_that_are_no_data_are_refused(project: Path, name: str, why: str) -> None:
    """A named key, configuration or file of a store is refused with the reason."""
    before = contents(project)
    key = ("--key-file", project / "my.key")
    assert why in run("tasks", "encrypt", "--yes", project / name, *key, code=1)
    assert contents(project) == before


def test_encrypting_asks_first(folder: Path) -> None:
    """Without --yes the files are listed, and any answer but yes leaves them unchanged."""
    words = ["tasks", "encrypt", str(folder), "--key-file", str(folder.parent / "my.key")]
    for reply in ("", "n\n"):
        asked = CliRunner().invoke(app, words, input=reply)
        assert asked.exit_code == 1
        assert "cases.json" in asked.output
        assert (folder / "cases.json").is_file()
    assert CliRunner().invoke(app, words, input="y\n").exit_code == 0
    assert not (folder / "cases.json").exists()


def test_what_does_not_decrypt_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one encrypted file cannot be decrypted, all plain files stay and no encrypted one does."""
    whole = protection.seal

    def bad(name: str, content: bytes, key: str) -> str:
        sealed = whole(name, content, key)
        return sealed if name == "cases.json" else sealed.replace("=", "A")[:-9] + "\n"

    monkeypatch.setattr(protection, "seal", bad)
    before = contents(folder)
    with pytest.raises(ResourceError, match="damaged"):
        protection.encrypt([folder / "cases.json", folder / "prompt.txt"], KEY)
    assert contents(folder) == before


def seal_on_a_full_disk(file: Path) -> None:
    """Encrypt a file while no file may exceed 1,000 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    with pytest.raises(ResourceError, match=f"{file.name}.enc cannot be written"):
        protection.encrypt([file], KEY)


def test_what_cannot_be_written_stays_as_it_is(folder: Path, repository: Path) -> None:
    """If the name is too long or the disk full, the file stays and no partial file is left."""
    long = folder / f"{'n' * 252}"
    long.write_text("content")
    with pytest.raises(ResourceError, match="cannot be written"):
        protection.encrypt([long], KEY)
    assert long.read_text() == "content"
    large = folder / "large.txt"
    large.write_bytes(bytes(5000))
    # in a process of its own, because a store of another test here writes larger files
    program = (
        f"from pathlib import Path; from {__name__} import seal_on_a_full_disk; "
        f"seal_on_a_full_disk(Path({str(large)!r}))"
    )
    subprocess.run([sys.executable, "-B", "-c", program], cwd=repository, check=True)
    assert large.read_bytes() == bytes(5000)
    assert not (folder / "large.txt.enc").exists()


def test_the_library_is_loaded_when_needed() -> None:
    """Listing commands does not import cryptography."""
    program = (
        "import sys, kgbench.cli, kgbench.tasks.texts; "
        "assert not [m for m in sys.modules if m.startswith('cryptography')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tasks_are_listed_and_shown() -> None:
    """``list`` shows labels, versions, metrics and cases; ``show`` a task and its first prompt."""
    found = {each["label"]: each for each in json.loads(run("tasks", "list", "--json"))}
    assert found.keys() == catalogue.labelled_tasks().keys()
    assert found["Text2SparqlExecEvalListCoypuMini"]["cases"] >= 10
    assert found["RdfFriendCount-turtle-1"]["cases"] is None
    assert "f1" in found["RdfFriendCount-turtle-1"]["metrics"]
    assert "RdfFriendCount-xml-2" in run("tasks", "list", "RdfFriendCount-*")
    shown = json.loads(run("tasks", "show", "RdfSyntaxFixList-turtle", "--json"))
    assert shown["version"] == "0.3-testing"
    assert len(shown["case_names"]) == shown["cases"] == 5
    assert "errors" in shown["prompt"]
    assert "prompt" not in run("tasks", "show", "RdfFriendCount-turtle-1").splitlines()[0]
    sample = run("tasks", "show", "TurtleSampleGeneration")
    assert '"size": "at least 3 and at most 200 persons"' in sample
    ranges = json.loads(run("tasks", "show", "RdfFriendCount-turtle-1", "--json"))["ranges"]
    assert ranges["size"] == {"minimum": 576, "maximum": 10_000_000, "unit": "characters"}
    assert "RdfFriendCount-turtle-1" in run("tasks", "show", "RdfFriendCount-turtl-1", code=1)
