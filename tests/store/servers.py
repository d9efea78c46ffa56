# SPDX-License-Identifier: Apache-2.0
"""SPARQL servers that tests start and stop on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.documented import free_port

PATIENCE = 120  # seconds until a server reacts: far more than a busy machine needs


class Server:
    """A server process; ``alive`` is a URL at which it answers once it has started."""

    def __init__(self, command: Sequence[object], alive: str, folder: Path | None = None) -> None:
        self._command = [str(word) for word in command]
        self._alive = alive
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it answers; every start uses the same port."""
        self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait(self._alive, self._process)
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the server; SIGKILL gives it no time to close anything."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


class Oxigraph(Server):
    """An Oxigraph server over a folder, or in memory."""

    def __init__(self, folder: Path | None, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        program = Path(sys.executable).with_name("oxigraph")
        place = () if folder is None else ("--location", folder)
        super().__init__(
            [program, "serve", *place, "--bind", f"127.0.0.1:{self.port}", *options],
            f"{self.url}/query?query=ASK%7B%7D",
        )


def wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server that is starting answers at ``url``."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        try:
            with urllib.request.urlopen(url, timeout=30) as response:
                response.read()
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


def empty(url: str) -> None:
    """Remove everything from an Oxigraph server."""
    request = urllib.request.Request(
        f"{url}/update",
        data=b"DROP ALL",
        headers={"Content-Type": "application/sparql-update"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        response.read()


def environment() -> dict[str, str]:
    """Return the environment for a child process that opens stores."""
    return {name: value for name, value in os.environ.items() if name != "KGBENCH_STORE"}
