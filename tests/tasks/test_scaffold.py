# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks new``: the package that it makes works once installed from its wheel."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import TaskError
from kgbench.testing import scaffold
from tests.support import documented_package

VARIANTS = list(itertools.product(("answer", "dialogue"), ("text", "graph")))


def new(*words: str | Path, code: int = 0) -> str:
    """Return the output of the command, or its error message."""
    done = CliRunner().invoke(app, ["tasks", "new", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize(("kind", "answers"), VARIANTS)
def test_the_installed_package_passes_its_own_test(tmp_path: Path, kind: str, answers: str):
    """The built wheel, installed in an empty environment, passes its test and runs the oracle."""
    source, name = tmp_path / "source", f"Garden{kind}{answers}"
    new(name, "--folder", source, "--kind", kind, "--answers", answers)
    python = documented_package.environment(tmp_path / "environment")
    variables = {key: value for key, value in os.environ.items() if "KGBENCH" not in key}
    variables |= {
        "PYTHONPATH": str(documented_package.ROOT),
        "KGBENCH_STORE": str(tmp_path / "store"),
        "NO_COLOR": "1",
    }

    def does(*words: str) -> str:
        done = subprocess.run(
            [python, "-P", *words],
            cwd=source,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    offline = ("--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")
    does("-m", "pip", "install", "--quiet", ".", *offline)
    does("-c", f"import {name.lower()} as m; assert 'site-packages' in m.__file__")
    assert "3 passed" in does("-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
    run = ("run", "--task", name, "--model", "baseline:oracle", "--iterations", "3")
    assert "1.000" in does("-m", "kgbench", *run)
    assert "no findings in 1 task class" in does("-m", "kgbench", "tasks", "check", ".")


@pytest.mark.parametrize(("kind", "answers"), VARIANTS)
def test_files_are_complete(tmp_path: Path, kind: str, answers: str):
    """All placeholders but the names in prompts are filled in, and the Python compiles."""
    made = scaffold.make("TeaGarden", tmp_path / "new", kind=kind, answers=answers)
    assert {path.name for path in made} >= {
        *("pyproject.toml", "README.md", "test_tea_garden.py", "task.ttl", "prompt.txt"),
        *("cases.json", "judge.py", "__init__.py"),
    }
    for path in made:
        text = path.read_text(encoding="utf-8")
        filled = path.suffix == ".txt" or re.search(r"\$(?!names)", text) is None
        assert filled, path
        if path.suffix == ".py":
            compile(text, str(path), "exec")
            assert all(len(line) <= 100 for line in text.splitlines())
        assert "\n\n\n\n" not in text
        assert not text.endswith("\n\n")


def test_python_is_formatted(tmp_path: Path):
    """The generated code is formatted, so that a formatter changes nothing."""
    for number, (kind, answers) in enumerate(VARIANTS):
        scaffold.make("TeaGarden", tmp_path / str(number), kind=kind, answers=answers)
    words = ("-m", "ruff", "format", "--check", "--isolated", "--line-length", "100")
    done = documented_package.python(tmp_path, *words, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_defaults_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By default the folder has the name of the class; --json lists the files."""
    monkeypatch.chdir(tmp_path)
    said = new("TeaGarden")
    assert "kgbench tasks check tea-garden" in said
    assert (tmp_path / "tea-garden" / "tea_garden" / "task.ttl").is_file()
    made = json.loads(new("TeaGarden", "--folder", "other", "--kind", "dialogue", "--json"))
    assert made["folder"] == "other"
    assert sorted(made["files"]) == sorted(
        path.relative_to("other").as_posix() for path in Path("other").rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("2Gardens", "begins with a letter"),
        ("Tea Garden", "only letters and digits"),
        ("Tea-Garden", "only letters and digits"),
        ("../Tea", "only letters and digits"),
        ("", "cannot be the name"),
        ("T" * 65, "at most 64"),
        ("RdfFriendCount", "there is a task called RdfFriendCount already"),
        ("Json", "there is a Python module called json already"),
        ("Import", "there is a Python module called import already"),
        ("Rdflib", "there is a Python module called rdflib already"),
    ],
)
def test_names_are_refused_with_words(tmp_path: Path, name: str, why: str):
    """An invalid or used name is refused, and nothing is written."""
    with pytest.raises(TaskError, match=why):
        scaffold.make(name, tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_existing_folders_are_left_alone(tmp_path: Path):
    """An existing folder or file is refused, even if empty, and stays unchanged."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for taken in ("empty", "file", "link"):
        with pytest.raises(TaskError, match=f"{taken} exists already: name another folder"):
            scaffold.make("TeaGarden", tmp_path / taken)
    assert (tmp_path / "file").read_text() == "mine"
    assert not list((tmp_path / "empty").iterdir())
