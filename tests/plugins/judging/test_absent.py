# SPDX-License-Identifier: Apache-2.0
"""kgbench without this plug-in: no commands and analyses of judges, and all others as before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from kgbench import resources
from kgbench.store import open_store
from tests.support.judge_runs import ask, judged_run

OWN = "kgbench.plugins.judging"


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """Return a function that runs kgbench on a judged store, as installed without the plug-in."""
    folder = tmp_path_factory.mktemp("absent")
    package = Path(resources.__file__).parent
    shutil.copytree(
        package, folder / "kgbench", ignore=shutil.ignore_patterns("judging", "__pycache__")
    )
    for name in resources.FOLDERS:
        (folder / "kgbench" / "declared").mkdir(exist_ok=True)
        (folder / "kgbench" / "declared" / name).symlink_to(resources.folder(name))
    about = folder / "kgbench-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.4\nName: kgbench\nVersion: 0\n")
    points = [p for p in distribution("kgbench").entry_points if OWN not in p.value]
    lines = [f"[{point.group}]\n{point.name} = {point.value}\n" for point in points]
    (about / "entry_points.txt").write_text("".join(lines))
    with open_store(str(folder / "store")) as store:
        of = judged_run(store, "baseline:oracle", iterations=1, labels=["RdfFriendCount-turtle-1"])
        ask(store, of, "correctness", "baseline:oracle")

    def run(*words):
        command = [sys.executable, "-m", "kgbench", *words]
        there = {**os.environ, "PYTHONPATH": str(folder), "KGBENCH_STORE": str(folder / "store")}
        return subprocess.run(
            command, cwd=folder, env=there, capture_output=True, text=True, check=False
        )

    return run


def test_its_commands_and_analyses_are_absent(without):
    """Help lists none of them, and using one is an error in words."""
    shown = without("--help")
    assert shown.returncode == 0, shown.stderr
    assert "reevaluate" in shown.stdout
    assert "judge " not in shown.stdout
    assert not shown.stderr
    for words in (["judge"], ["review"], ["analyze", "agreement"]):
        refused = without(*words)
        assert refused.returncode == 2
        assert f"No such command '{words[-1]}'" in refused.stderr


def test_a_judged_dialogue_is_shown_with_its_verdict(without):
    """Recorded verdicts are data of the core; only the words of their rubric are missing."""
    name = without("dialogues").stdout.split("kgbench show ")[1].split()[0]
    shown = without("show", name)

    assert shown.returncode == 0, shown.stderr
    assert "verdict right (execution: right)" in shown.stdout
    (verdict,) = json.loads(without("show", name, "--json").stdout)["judgements"]
    assert verdict["rubric"] == "https://w3id.org/kgbench/rubric/correctness/1"


def test_a_configured_judge_is_refused_with_the_name_of_the_plugin(without, tmp_path):
    """The task class is known, for recorded verdicts; what asks is named."""
    (tmp_path / "kgbench.yaml").write_text(
        "name: judged\nsuite: kgbench-1\niterations: 1\nmodels: [baseline:oracle]\n"
        "tasks: [{class: JudgeVerdict}]\n"
    )

    refused = without("run", str(tmp_path / "kgbench.yaml"))

    assert refused.returncode == 1
    assert "`kgbench judge`, a command of the plug-in judging" in refused.stderr
