# SPDX-License-Identifier: Apache-2.0
"""The package of ``docs/new-task-class.md``, written to a folder and put on the path."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

from kgbench.testing import scaffold

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "new-task-class.md"
NAME = "TurtleObjectList"
MODULE = "turtle_object_list"
_FILE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def files() -> dict[str, str]:
    """Return the files that the page shows, by their path in the package."""
    shown = _FILE.findall(PAGE.read_text(encoding="utf-8"))
    return {name.removeprefix("turtle-object-list/"): text for name, text in shown}


def write(folder: Path) -> Path:
    """Put the package into ``folder`` as pip would: the content of its wheel.

    The sources, with the test of the package, are in ``source`` there.
    """
    source = folder / "source"
    scaffold.make(NAME, source)
    for name, text in files().items():
        (source / name).write_text(text, encoding="utf-8")
    with zipfile.ZipFile(wheel(source)) as built:
        built.extractall(folder)
    return folder


def wheel(source: Path) -> Path:
    """Build the wheel of a package without build isolation, and so without a network."""
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next((source / "dist").glob("*.whl"))


def environment(folder: Path) -> Path:
    """Make an empty environment that sees the packages installed here; return its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    here = Path(sysconfig.get_path("purelib"))
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "installed-here.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n")
    return folder / "bin" / "python"


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
