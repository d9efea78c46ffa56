# SPDX-License-Identifier: Apache-2.0
"""Checksums of the files of a snapshot, written beside it when it is published.

The owner's files get checksums when the store is closed. The files never change, so a difference
means damage. CRC-32 runs at memory speed (3.8 GB/s, SHA-256 only 1.3) and detects accidents; it
does not protect against forgery. A file that an earlier snapshot shares, as a hard link, keeps its
checksum and is not read again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kgbench import files

TABLE = ".sst"  # suffix of RocksDB's table files, which contain the indexes and never change
_CHUNK = 1 << 20
_NOT_CONTENT = ("LOCK", "LOG")  # created whenever the database is opened, without content


class Sum(NamedTuple):
    """Size in bytes and CRC-32 of a file."""

    size: int
    crc: int


def sums_path(snapshot: Path) -> Path:
    """Return the path of the checksums of a snapshot."""
    return snapshot.with_name(snapshot.name + ".sums")


def take(folder: Path, snapshot: Path, previous: Iterable[Path] = ()) -> None:
    """Write the checksums of the files in ``folder``, which will become ``snapshot``.

    ``previous`` are folders with checksums that may share files with it.
    """
    known: dict[int, Sum] = {}
    for earlier in previous:
        for name, value in (read(earlier) or {}).items():
            with suppress(FileNotFoundError):
                if name.endswith(TABLE):
                    known[(earlier / name).stat().st_ino] = value
    sums = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith(_NOT_CONTENT):
            with suppress(FileNotFoundError):  # the engine may remove files in the background
                entry = file.stat()
                earlier_sum = known.get(entry.st_ino)
                # The first checksum is kept, so that damage since then is detected.
                if earlier_sum is not None and earlier_sum.size == entry.st_size:
                    sums[file.name] = earlier_sum
                else:
                    sums[file.name] = Sum(entry.st_size, _crc(file))
    files.write(sums_path(snapshot), json.dumps(sums, indent=0))


def read(snapshot: Path) -> Mapping[str, Sum] | None:
    """Return the checksums of a snapshot by file name; ``None`` if there are none."""
    try:
        document = json.loads(sums_path(snapshot).read_bytes())
        return {str(name): Sum(int(size), int(crc)) for name, (size, crc) in document.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def faults(snapshot: Path, budget: int | None = None, *, owned: bool = False) -> Iterator[str]:
    """Yield a message for each file of a snapshot that differs from its checksum.

    With a ``budget`` in bytes, the sizes of all files are compared, but the content only of the
    smallest files that fit into the budget. Of an owner's files (``owned``), only the tables are
    compared that the engine has not merged since. Without checksums there are no messages.
    """
    left = budget
    expected = read(snapshot) or {}
    for name, (size, expected_crc) in sorted(expected.items(), key=lambda item: item[1].size):
        file = snapshot / name
        if owned and not (name.endswith(TABLE) and file.exists()):
            continue
        try:
            actual = file.stat().st_size
            if actual != size:
                yield f"{name} has {actual} of {size} bytes"
                continue
            if left is not None:
                left -= size
            if (left is None or left >= 0) and _crc(file) != expected_crc:
                yield f"{name} has changed since it was written"
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror}"


def _crc(file: Path) -> int:
    value = 0
    with file.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            value = zlib.crc32(chunk, value)
    return value
