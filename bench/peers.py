# SPDX-License-Identifier: Apache-2.0
"""Environments with the peers that we are measured beside, made once and kept in a cache folder.

The folder is that which ``KGBENCH_BENCH_PEERS`` names, else ``kgbench-bench`` in the user's cache.
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
    """The folder of the programs of a peer; installs it where it is not there yet.

    Raises :class:`subprocess.CalledProcessError` where it cannot be installed.
    """
    environment = _folder() / "-".join(PACKAGES[name]).replace("==", "-")
    done = environment / "installed"
    if not done.exists():
        shutil.rmtree(environment, ignore_errors=True)
        venv.create(environment, with_pip=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        words = [*pip, "--disable-pip-version-check", *PACKAGES[name]]
        subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - fixed words
        done.touch()
    return environment / "bin"


def _folder() -> Path:
    if named := os.environ.get(FOLDER):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kgbench-bench"
