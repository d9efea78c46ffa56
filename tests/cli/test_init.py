# SPDX-License-Identifier: Apache-2.0
"""``kgbench init`` writes configurations that are valid and can be run, from options."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from kgbench import config
from kgbench.cli import app

KEY = "sk-" + "abcdEFGH0123" * 4


def kgbench(folder: Path, *words: str, code: int = 0, **variables: str) -> str:
    """Return the output of a command without a terminal, or its error."""
    cleared = dict.fromkeys(name for name in os.environ if name.endswith("_API_KEY"))
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, words, env={**cleared, **variables})
    assert done.exit_code == code, (done.output, done.exception)
    return str(done.exception) if code else done.stdout


def read(path: Path) -> dict[str, object]:
    """Return a configuration, parsed."""
    found: dict[str, object] = YAML(typ="safe").load(path)
    return found


def test_without_options_the_defaults_run(tmp_path):
    """Without options the configuration needs no provider."""
    said = kgbench(tmp_path, "init", "first")
    path = tmp_path / "first" / "kgbench.yaml"
    assert "Run it with: kgbench run first/kgbench.yaml" in said
    assert len(re.findall("^ *# ", path.read_text(), re.MULTILINE)) > 5
    assert "accepted" in kgbench(tmp_path, "validate", str(path))
    done = kgbench(tmp_path, "run", str(path), "-n", "1", "--store", "s")
    assert "10 of 10 dialogues complete" in done


def test_options_are_written(tmp_path):
    """Each option has its place in the file."""
    words = ("--model", "baseline:silent", "--model", 'openai:a"b@http://127.0.0.1:9/v1')
    more = ("--task", "RdfFriendCount-*", "--suite", "llm-kg-bench-3", "-n", "3")
    kgbench(tmp_path, "init", *words, *more, "--max-cost", "0.25")
    assert read(tmp_path / "kgbench.yaml") == {
        "tasks": ["RdfFriendCount-*"],
        "models": ["baseline:silent", 'openai:a"b@http://127.0.0.1:9/v1'],
        "iterations": 3,
        "suite": "llm-kg-bench-3",
        "maxCost": 0.25,
    }
    plan = config.load(tmp_path / "kgbench.yaml")
    assert [setup.model_id for setup in plan.models] == ["silent", 'a"b']


def test_keys_are_named_and_never_written(tmp_path):
    """A configuration names the variable of a key, and never the key."""
    words = ("init", "--model", "openai:gpt-5", "--model", "google:gemini-3?key_env=MY_KEY")
    said = json.loads(kgbench(tmp_path, *words, "--json", OPENAI_API_KEY=KEY))
    assert said == {"file": "kgbench.yaml", "keys_not_set": ["MY_KEY"]}
    text = (tmp_path / "kgbench.yaml").read_text()
    assert "# its key is read from OPENAI_API_KEY" in text
    assert "# its key is read from MY_KEY" in text
    assert KEY not in text
    refused = kgbench(tmp_path, "init", "other", "--model", f"openai:{KEY}", code=1)
    assert "holds an API key" in refused
    assert KEY not in refused
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--model", "baselin:oracle"), "there is no connector 'baselin': did you mean baseline?"),
        (("--model", "baseline:orcle"), "there is no baseline model 'orcle': did you mean oracle?"),
        (("--model", "baseline:oracle?rate=1"), "has no option 'rate'; it takes delay"),
        (("--task", "RdfFriendCont-turtle-1"), "did you mean RdfFriendCount-turtle-1"),
        (("--suite", "kgbench-2"), "unknown suite 'kgbench-2': did you mean kgbench-1"),
    ],
)
def test_what_would_be_refused_is_not_written(tmp_path, words, why):
    """An unknown name is refused as by `kgbench validate`, and nothing is written."""
    assert why in kgbench(tmp_path, "init", "new", *words, code=1)
    assert not (tmp_path / "new").exists()


def test_files_are_never_overwritten(tmp_path):
    """A file or a dangling link is not overwritten; a file in place of the folder is kept."""
    (tmp_path / "kgbench.yaml").write_text("mine\n")
    (tmp_path / "file").write_text("mine\n")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "kgbench.yaml").symlink_to("nowhere")
    for place in (".", "linked"):
        said = kgbench(tmp_path, "init", place, code=1)
        assert "kept as it is: name another folder" in said
    assert "it is not a folder" in kgbench(tmp_path, "init", "file", code=1)
    assert (tmp_path / "kgbench.yaml").read_text() == "mine\n"
    assert not (tmp_path / "linked" / "nowhere").exists()
