# SPDX-License-Identifier: Apache-2.0
"""Environments with the peers of benchmarks, created once and kept in a cache folder.

``KGBENCH_BENCH_PEERS`` names the folder; the default is ``kgbench-bench`` in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

FOLDER = "KGBENCH_BENCH_PEERS"
PACKAGES = {
    "rdflib-endpoint": ("rdflib-endpoint==0.6.3", "uvicorn"),
    "oxigraph": ("oxigraph==0.5.13",),
    "pandas": ("pandas==3.1.1",),
}


def binaries(name: str) -> Path:
    """Return the folder with the programs of a peer, which is installed if necessary.

    Raises :class:`subprocess.CalledProcessError` if it cannot be installed.
    """
    environment = _folder() / "-".join(PACKAGES[name]).replace("==", "-")
    stamp = environment / "installed"
    if not stamp.exists():
        shutil.rmtree(environment, ignore_errors=True)
        venv.create(environment, with_pip=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        command = [*pip, "--disable-pip-version-check", *PACKAGES[name]]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed command
        stamp.touch()
    return environment / "bin"


def _folder() -> Path:
    if configured := os.environ.get(FOLDER):
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kgbench-bench"
