# SPDX-License-Identifier: Apache-2.0
"""A Virtuoso server that tests start and stop on loopback."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from tests.documented import free_port
from tests.store.servers import Server

_SETTINGS = """
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


class Virtuoso(Server):
    """A Virtuoso server with an empty database in ``folder``; each buffer takes 8 KB of memory."""

    def __init__(self, folder: Path, rows: int = 1_000_000, buffers: int = 10_000) -> None:
        self.port, self.sql = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}/sparql"
        settings = folder / "virtuoso.ini"
        settings.write_text(
            _SETTINGS.format(
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


def version() -> str:
    """Return the version of the installed Virtuoso, such as 7.2."""
    done = subprocess.run(["virtuoso-t", "-?"], capture_output=True, text=True, check=False)
    found = re.search(r"Version (\d+\.\d+)", done.stdout + done.stderr)
    assert found is not None, done.stderr
    return found[1]
