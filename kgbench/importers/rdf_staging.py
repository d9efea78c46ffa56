# SPDX-License-Identifier: Apache-2.0
"""Documents of a data set, parsed into a database of their own before anything is believed.

Parsing happens in a child process with limits of memory and time: what makes a parser crash or
work for ever is refused like any other broken file. Documents that are checked, and not imported,
are tried in the same way (:func:`count`).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf_files import RdfFile

MEMORY = 8 << 30
"""The address space that parsing one document may take (bytes)."""

SECONDS = 120.0
"""How long parsing one document may take, beside the time for its size."""

_PER_SECOND = 500_000  # bytes a second, which is slow even for a busy machine
_CHUNK = 1 << 20
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


def count(content: IO[bytes], syntax: str) -> int:
    """How many quads a document in one of the syntaxes of dumps has; nothing of it is kept.

    Raises :class:`ImportRefused` where it does not parse within the limits of memory, depth and
    time, and what reading ``content`` raises.
    """
    command = _command("-", syntax, "-")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:  # noqa: S603 - as below
        try:
            assert child.stdin is not None
            _feed(content, child.stdin.fileno())
            said, complaint = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ImportRefused(f"not {syntax}: {_too_long(SECONDS)}") from None
        except BaseException:
            child.kill()
            raise
    wrong, _, number = said.decode("utf-8", "replace").partition("\n")
    wrong = _ended(child.returncode, complaint.decode("utf-8", "replace")) or wrong
    if wrong:
        raise ImportRefused(f"not {syntax}: {wrong}")
    return int(number)


def _feed(content: IO[bytes], pipe: int) -> None:
    """Give a child its document; ends early where the child has ended."""
    os.set_blocking(pipe, False)
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_WRITE)
        while chunk := content.read(_CHUNK):
            left = memoryview(chunk)
            while left:
                if not ready.select(SECONDS):
                    raise subprocess.TimeoutExpired("parsing", SECONDS)
                try:
                    left = left[os.write(pipe, left) :]
                except BrokenPipeError:
                    return


def _parse(file: RdfFile, database: Path) -> str:
    limit = SECONDS + file.path.stat().st_size / _PER_SECOND
    command = _command(str(database), file.syntax, str(file.path))
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return _too_long(limit)
    return _ended(done.returncode, done.stderr) or done.stdout.strip()


def _command(database: str, syntax: str, path: str) -> list[str]:
    command = [sys.executable, "-P", "-m", "kgbench.importers.rdf_child"]
    return [*command, database, syntax, path, str(MEMORY)]


def _too_long(limit: float) -> str:
    return f"it keeps the parser busy for more than {limit:.0f} seconds"


def _ended(status: int, complaint: str) -> str:
    """What the end of a child says of its document; ``""`` where it gave an answer."""
    if status in _STACK:
        return "nested too deeply, or too large to be parsed"
    if status:
        last = complaint.strip().rpartition("\n")[2]
        return f"the parser ended with status {status} ({last[:200]})"
    return ""
