# SPDX-License-Identifier: Apache-2.0
"""Jena's database (TDB2) behind HTTP on loopback, at the addresses of Fuseki.

Fuseki itself is in no package of Debian, PyPI or npm; its database and query engine are in Jena's
package. The HTTP server between them and the network is a hundred lines of Java here.
"""

from __future__ import annotations

import signal
from pathlib import Path

from tests.documented import free_port
from tests.queries.engines.engines import ROOT, jena_command, jena_version
from tests.store.servers import Server


class JenaServer(Server):
    """A server over a database in ``folder``; raises ``Missing`` if Jena is not installed."""

    def __init__(self, folder: Path) -> None:
        self.version = jena_version()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/dataset"
        source = Path(__file__).with_name("Serve.java")
        command = jena_command(source, folder, port)
        super().__init__(command, f"{self.url}/data?graph=urn:none", ROOT)

    def stop(self, number: int = signal.SIGKILL) -> None:
        """Kill the server: its database is not needed again."""
        super().stop(number)
