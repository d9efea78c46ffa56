# SPDX-License-Identifier: Apache-2.0
"""Servers of other projects, each in its own virtual environment below ``build/``.

An environment is created once and kept. Only pip accesses a package index for that; the servers
themselves, like all processes that tests start, get the address of a proxy that does not exist.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_PATIENCE = 180.0  # seconds until a server answers on a busy machine


def environment(name: str) -> Path:
    """Return the folder of executables of the environment ``name``."""
    return ROOT / "build" / name / "bin"


def installed(name: str, *requirements: str) -> Path:
    """Return the executables of an environment with ``requirements``; skip if pip fails."""
    programs = environment(name)
    done = programs.parent / ".installed"
    wanted = "\n".join(requirements)
    if done.is_file() and done.read_text("utf-8") == wanted:
        return programs
    venv.create(programs.parent, with_pip=True, clear=True)
    outside = {key: value for key, value in os.environ.items() if key not in _PROXIES}
    command = [programs / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    got = subprocess.run(
        [*command, "--only-binary=:all:", *requirements],
        env=outside,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if got.returncode:
        last = (got.stderr.strip().splitlines() or ["no reason given"])[-1]
        pytest.skip(f"{', '.join(requirements)} cannot be installed here: {last}")
    done.write_text(wanted, encoding="utf-8")
    return programs


@contextlib.contextmanager
def serving(command: Sequence[str | Path], url: str, log: Path, **variables: str) -> Iterator[None]:
    """Start the server ``command``, yield once ``url`` answers; its output goes to ``log``."""
    own: Mapping[str, str] = {**os.environ, **variables}
    with (
        log.open("wb") as said,
        subprocess.Popen(list(command), env=own, stdout=said, stderr=said) as server,
    ):
        try:
            end = time.monotonic() + _PATIENCE
            while not _answers(url):
                text = log.read_text("utf-8", "replace")
                assert server.poll() is None, f"the server ended by itself: {text}"
                assert time.monotonic() < end, f"the server does not answer: {text}"
                time.sleep(0.2)
            yield
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
