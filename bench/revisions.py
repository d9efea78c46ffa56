# SPDX-License-Identifier: Apache-2.0
"""The steps of the growth table and two commands, with the code of an earlier commit and today's.

Both codes work in turns on stores of their own, so that a slow phase of the machine affects both.
``KGBENCH_BENCH_BEFORE`` names the earlier commit, which must have ``bench/growth.py``. The sizes
and the data are those of :mod:`bench.growth`. A ratio is today's value divided by the earlier one.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from bench import growth
from bench.harness import LEAST, Result
from kgbench.datasets import home
from kgbench.tasks import graphs

BEFORE = "KGBENCH_BENCH_BEFORE"
_ROOT = Path(__file__).parents[1]
_COMMANDS = {
    "kgbench --help": ["--help"],
    "kgbench analyze leaderboard": ["analyze", "leaderboard", "--store", "store"],
}

_Measured: TypeAlias = dict[tuple[str, str], float]
"""Measurements, by what was measured and the unit."""


def run() -> list[Result]:
    """Return each measurement of today's code as a ratio to that of the earlier code."""
    commit = os.environ.get(BEFORE)
    if commit is None or "KGBENCH_EXTERNAL_DATA" not in os.environ:
        missing = BEFORE if commit is None else "KGBENCH_EXTERNAL_DATA"
        return [Result("revisions", 0, "", note=f"not run: {missing} is not set")]
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ[home.VARIABLE] = str(Path(folder) / "datasets")
        graphs.install(Path(os.environ["KGBENCH_EXTERNAL_DATA"]) / "text2sparql")
        trees = {"before": extracted(commit, Path(folder) / "code"), "now": _ROOT}
        for size in map(int, os.environ.get(growth.SIZES, "5200").split(",")):
            results += compared(trees, Path(folder), size, commit)
    return results


def extracted(commit: str, folder: Path) -> Path:
    """Write the files of a commit to ``folder``, with its entry points; return it.

    Raises :class:`subprocess.CalledProcessError` if there is no such commit.
    """
    command = ["git", "-C", str(_ROOT), "archive", "--format=tar", commit]
    archive = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / "kgbench-0.dist-info"  # found before that of the installed kgbench
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kgbench\nVersion: 0\n")
    points = (
        line
        for group, entries in project.get("entry-points", {}).items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()))
    )
    (metadata / "entry_points.txt").write_text("\n".join([*points, ""]), encoding="utf-8")
    return folder


def compared(trees: dict[str, Path], folder: Path, size: int, commit: str) -> Iterator[Result]:
    """Measure the codes ``before`` (of ``commit``) and ``now`` in turns; yield the ratios.

    ``folder`` is for stores of ``size`` dialogues, which are deleted.
    """
    sides = list(trees)
    series: dict[str, dict[tuple[str, str], list[float]]] = {
        side: defaultdict(list) for side in sides
    }
    for turn in range(LEAST):
        for side in sides if turn % 2 == 0 else reversed(sides):
            for key, value in _measured(trees[side], folder / side, size).items():
                series[side][key].append(value)
    for key, now in series["now"].items():
        before = series["before"].get(key)
        if before is not None:
            yield _ratio(key, before, now, f"{commit}, {size:,} dialogues")


def _measured(tree: Path, folder: Path, size: int) -> _Measured:
    """Measure every step once with the code in ``tree``; the stores are deleted afterwards."""
    found: _Measured = {}
    folder.mkdir()
    for step in growth.STEPS:
        store = folder / ("run" if step in growth.OWN else "store")
        command = ["bench.growth", step, str(store), str(size)]
        seconds, output = _processor_time(tree, folder, command)
        report = json.loads(output.splitlines()[-1])
        found[step, "s of processor time"] = seconds
        found[step, "MB"] = report["megabytes"]
        for part, (value, unit) in report.get("parts", {}).items():
            found[part, unit] = value
    for name, arguments in _COMMANDS.items():
        times = [_processor_time(tree, folder, ["kgbench", *arguments])[0] for _ in range(LEAST)]
        found[name, "s of processor time"] = statistics.median(times)
    shutil.rmtree(folder)
    return found


def _processor_time(tree: Path, folder: Path, module: list[str]) -> tuple[float, str]:
    """Run a module with the code in ``tree``; return the processor time with children, and stdout.

    The working directory is ``folder``.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-m", *module],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, process.stdout


def _ratio(key: tuple[str, str], before: list[float], now: list[float], against: str) -> Result:
    what, unit = key
    medians = statistics.median(before), statistics.median(now)
    written = " and ".join(
        f"{name} {', '.join(f'{value:.3g}' for value in values)}"
        for name, values in (("before", before), ("now", now))
    )
    return Result(f"{what}, {unit}", medians[1] / medians[0], "x", against, note=written)
