# SPDX-License-Identifier: Apache-2.0
"""SPARQL servers that tests start and stop on loopback: Oxigraph, and Virtuoso if installed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from tests.documented import free_port

PATIENCE = 120  # seconds until a server reacts: far more than a busy machine needs
_VIRTUOSO = """
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
[TempDatabase]
DatabaseFile = {folder}/virtuoso-temp.db
TransactionFile = {folder}/virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
DisableUnixSocket = 1
NumberOfBuffers = {buffers}
MaxDirtyBuffers = {dirty}
DirsAllowed = {folder}
[HTTPServer]
ServerPort = 127.0.0.1:{port}
ServerRoot = {folder}
ServerThreads = 10
MaxKeepAlives = 10
KeepAliveTimeout = 10
[SPARQL]
ResultSetMaxRows = {rows}
"""


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


class Virtuoso(Server):
    """A Virtuoso server with an empty database in ``folder``; each buffer takes 8 KB of memory."""

    def __init__(self, folder: Path, rows: int = 1_000_000, buffers: int = 10_000) -> None:
        self.port, self.sql = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}/sparql"
        settings = folder / "virtuoso.ini"
        settings.write_text(
            _VIRTUOSO.format(
                folder=folder,
                port=self.port,
                sql=self.sql,
                rows=rows,
                buffers=buffers,
                dirty=buffers * 6 // 10,
            )
        )
        super().__init__(
            ["virtuoso-t", "+foreground", "+configfile", settings],
            f"{self.url}?query=ASK%7B%7D",
            folder,
        )

    def stop(self, number: int = signal.SIGKILL) -> None:
        """Kill the server: its database is discarded."""
        super().stop(number)

    def load(self, file: Path, seconds: float) -> None:
        """Load a file of N-Quads in the folder of the database, as its manual recommends."""
        words = f"ld_dir('{file.parent}', '{file.name}', ''); rdf_loader_run(); checkpoint;"
        subprocess.run(
            ["isql-vt", str(self.sql), "dba", "dba", f"EXEC={words}"],
            check=True,
            capture_output=True,
            timeout=seconds,
        )


def virtuoso_version() -> str:
    """Return the version of the installed Virtuoso, such as 7.2."""
    done = subprocess.run(["virtuoso-t", "-?"], capture_output=True, text=True, check=False)
    found = re.search(r"Version (\d+\.\d+)", done.stdout + done.stderr)
    assert found is not None, done.stderr
    return found[1]


@contextlib.contextmanager
def virtuoso(folder: Path, rows: int = 1_000_000) -> Iterator[str | None]:
    """Yield the URL of a Virtuoso server with an empty database; ``None`` if not installed."""
    if shutil.which("virtuoso-t") is None:
        yield None
        return
    with Virtuoso(folder, rows) as server:
        yield server.url


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
