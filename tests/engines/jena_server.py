# SPDX-License-Identifier: Apache-2.0
"""Jena's database (TDB2) behind HTTP on loopback, at the addresses of Fuseki.

Fuseki itself is in no package that Debian, PyPI or npm have; its database and its query engine are
in that of Jena. What is between them and the network here is a hundred lines of Java.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Self

from tests.documented import free_port
from tests.engines.engines import ROOT, jena_command, jena_version
from tests.store.servers import PATIENCE, wait


class JenaServer:
    """A server over a database in ``folder``; raises :class:`~tests.engines.engines.Missing`."""

    def __init__(self, folder: Path) -> None:
        self.version = jena_version()
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/dataset"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        source = Path(__file__).with_name("Serve.java")
        self._process = subprocess.Popen(
            jena_command(source, self._folder, self._port),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait(f"{self.url}/data?graph=urn:none", self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE)
