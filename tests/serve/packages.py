# SPDX-License-Identifier: Apache-2.0
"""npm packages that only tests need, fetched on demand and cached."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest


def member(package, version, name):
    """Return the text of a file in an npm package; skip the test if it is unavailable."""
    archive = _cache() / f"{package}-{version}.tgz"
    if not archive.exists():
        _fetch(package, version, archive)
    with tarfile.open(archive) as found:
        return found.extractfile(f"package/{name}").read().decode("utf-8")


def _fetch(package, version, archive):
    if shutil.which("npm") is None:
        pytest.skip("there is no npm on this machine")
    archive.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            ["npm", "pack", "--silent", f"{package}@{version}"],
            cwd=archive.parent,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm is too slow to fetch {package}")
    if done.returncode != 0 or not archive.exists():
        pytest.skip(f"npm cannot fetch {package}: {done.stderr.strip()[-200:]}")


def _cache():
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "kgbench-tests"
