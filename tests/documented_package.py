# SPDX-License-Identifier: Apache-2.0
"""The package that ``docs/new-task-class.md`` makes, written to a folder and put on the path."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "new-task-class.md"
_FILE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def files() -> dict[str, str]:
    """The files that the page shows, by their path."""
    return dict(_FILE.findall(PAGE.read_text(encoding="utf-8")))


def write(folder: Path) -> Path:
    """Put the package into ``folder`` as an installation would: modules beside a dist-info."""
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    install(folder)
    return folder


def install(folder: Path) -> None:
    """Put what ``pip install`` would note of the package in ``folder`` beside its modules."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def python(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package on the path and an empty store in its folder."""
    environment = {name: value for name, value in os.environ.items() if "KGBENCH" not in name}
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "KGBENCH_STORE": str(folder / "store"),
        "KGBENCH_DATASETS": str(folder / "datasets"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        **variables,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
