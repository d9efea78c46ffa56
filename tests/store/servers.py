# SPDX-License-Identifier: Apache-2.0
"""SPARQL servers that tests start on loopback and stop again: Oxigraph, and Virtuoso if any."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.documented import free_port

PATIENCE = 120  # seconds for what is to come: far beyond what a busy machine needs
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


class Oxigraph:
    """An Oxigraph server over a folder, or in memory; on one port however often it is started."""

    def __init__(self, folder, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._options = options
        self._process = None

    def start(self):
        """Start the server and wait until it answers."""
        program = Path(sys.executable).with_name("oxigraph")
        bound = f"127.0.0.1:{self.port}"
        place = () if self._folder is None else ("--location", self._folder)
        self._process = subprocess.Popen(
            [program, "serve", *place, "--bind", bound, *self._options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait(f"{self.url}/query?query=ASK%7B%7D", self._process)

    def stop(self, number=signal.SIGTERM):
        """End the server; SIGKILL leaves it no time for anything."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()


class Virtuoso:
    """A Virtuoso server with an empty database in ``folder``; each buffer takes 8 KB of memory."""

    def __init__(self, folder, rows=1_000_000, buffers=10_000):
        self.port, self.sql = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}/sparql"
        self._folder = folder
        self._settings = folder / "virtuoso.ini"
        self._settings.write_text(
            _VIRTUOSO.format(
                folder=folder,
                port=self.port,
                sql=self.sql,
                rows=rows,
                buffers=buffers,
                dirty=buffers * 6 // 10,
            )
        )
        self._process = None

    def __enter__(self):
        self._process = subprocess.Popen(
            [shutil.which("virtuoso-t"), "+foreground", "+configfile", self._settings],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait(f"{self.url}?query=ASK%7B%7D", self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        self._process.kill()
        self._process.wait(PATIENCE)

    def load(self, file, seconds):
        """Load a file of N-Quads in the folder of the database, as its manual recommends."""
        words = f"ld_dir('{file.parent}', '{file.name}', ''); rdf_loader_run(); checkpoint;"
        subprocess.run(
            [shutil.which("isql-vt"), str(self.sql), "dba", "dba", f"EXEC={words}"],
            check=True,
            capture_output=True,
            timeout=seconds,
        )


@contextlib.contextmanager
def virtuoso(folder, rows=1_000_000):
    """A Virtuoso server with an empty database in ``folder``: its URL; ``None`` without one."""
    if shutil.which("virtuoso-t") is None:
        yield None
        return
    with Virtuoso(folder, rows) as server:
        yield server.url


def wait(url, process):
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


def empty(url):
    """Remove everything from an Oxigraph server."""
    request = urllib.request.Request(
        f"{url}/update",
        data=b"DROP ALL",
        headers={"Content-Type": "application/sparql-update"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        response.read()


def environment():
    """The environment for a child process that opens stores."""
    return {name: value for name, value in os.environ.items() if name != "KGBENCH_STORE"}
