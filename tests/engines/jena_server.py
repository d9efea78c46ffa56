# SPDX-License-Identifier: Apache-2.0
"""Jena's database (TDB2) behind HTTP on loopback, at the addresses of Fuseki.

Fuseki itself is in no package that Debian, PyPI or npm have; its database and its query engine are
in that of Jena. What is between them and the network here is a hundred lines of Java.
"""

from __future__ import annotations

import signal
from pathlib import Path

from tests.documented import free_port
from tests.engines.engines import ROOT, jena_command, jena_version
from tests.store.servers import Server


class JenaServer(Server):
    """A server over a database in ``folder``; raises :class:`~tests.engines.engines.Missing`."""

    def __init__(self, folder: Path) -> None:
        self.version = jena_version()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/dataset"
        source = Path(__file__).with_name("Serve.java")
        command = jena_command(source, folder, port)
        super().__init__(command, f"{self.url}/data?graph=urn:none", ROOT)

    def stop(self, number: int = signal.SIGKILL) -> None:
        """End the server at once: its database is thrown away."""
        super().stop(number)
