# SPDX-License-Identifier: Apache-2.0
"""Users who check types strictly see the types of the Python API."""

import subprocess
import sys

USED = """
from kgbench import Case, Dialogue, Results, Run, Table, Task, Verdict, open, score

results: Results = open("kgbench-results", models="*oracle")
table: Table = results.leaderboard(set="main", significance=True)
names: list[object] = list(table.column("model"))
run: Run = results.run("small.yaml", tasks=["RdfFriendCount-*"], iterations=2)
dialogues: list[Dialogue] = list(results.dialogues(below=0.5))
first: Dialogue = results.dialogues()[0]
points: float | None = score("RdfFriendCount-turtle-1", "no idea").main
results.compass.figure(compass="eswc", size="one-column", title="", top=3).savefig("compass.png")


def judged(case: Case, task: Task) -> Verdict:
    return Verdict({}, {"case": case.iri, "task": task.label})
"""
WRONG = {
    "results.leaderboard(set=1)": "arg-type",
    "results.leaderboard(alpa=0.1)": "call-arg",
    'results.compass.figure(compas="eswc")': "call-arg",
    'results.compass.figure(compass="eswc", size=3)': "arg-type",
    'x: int = results.query("list-models")': "assignment",
    "for dialogue in results.dialogues(): dialogue.prompt": "attr-defined",
}


def complaints(text, folder):
    """Return mypy's messages about a user's module."""
    module = folder / "used.py"
    module.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder), str(module)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_types_of_users_are_checked(tmp_path):
    """Correct uses pass ``mypy --strict``, and each wrong one has the expected error."""
    assert "Success" in complaints(USED, tmp_path)
    begun = len(USED.splitlines()) + 1
    said = complaints(USED + "\n".join(WRONG) + "\n", tmp_path)
    for number, (use, kind) in enumerate(WRONG.items(), begun):
        assert f"used.py:{number}: error" in said, (use, said)
        (line,) = (one for one in said.splitlines() if f"used.py:{number}: error" in one)
        assert f"[{kind}]" in line
