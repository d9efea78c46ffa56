# SPDX-License-Identifier: Apache-2.0
"""Documents of a data set, parsed into a database of their own before anything is believed.

Parsing happens in a child process with limits of memory and time: what makes a parser crash or
work for ever is refused like any other broken file.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf_files import RdfFile

MEMORY = 8 << 30
"""The address space that parsing one document may take (bytes)."""

SECONDS = 120.0
"""How long parsing one document may take, beside the time for its size."""

_PER_SECOND = 500_000  # bytes a second, which is slow even for a busy machine
_STACK = {-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT}


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what is unpacked and parsed, removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="kgbench-import-") as found:
        yield Path(found)


def stage(files: list[RdfFile], folder: Path) -> ox.Store:
    """A database below ``folder`` with the quads of all ``files``.

    Raises :class:`ImportRefused` for the first document that does not parse within the limits, or
    says something that cannot be stored: triples as terms, texts with a direction.
    """
    database = folder / "database"
    for file in files:
        wrong = _parse(file, database)
        if wrong:
            raise ImportRefused(f"{file.name}: not {file.syntax}: {wrong}")
    found = ox.Store(str(database))
    if not len(found):
        raise ImportRefused(f"{', '.join(file.name for file in files)}: no RDF in it")
    return found


def _parse(file: RdfFile, database: Path) -> str:
    limit = SECONDS + file.path.stat().st_size / _PER_SECOND
    command = [sys.executable, "-P", "-m", "kgbench.importers.rdf_child"]
    command += [str(database), file.syntax, str(file.path), str(MEMORY)]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it keeps the parser busy for more than {limit:.0f} seconds"
    if done.returncode in _STACK:
        return "nested too deeply, or too large to be parsed"
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        return f"the parser ended with status {done.returncode} ({last[:200]})"
    return done.stdout.strip()
