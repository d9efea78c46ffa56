# SPDX-License-Identifier: Apache-2.0
"""Checksums of the files of a snapshot, written beside it when it is published.

The same is done for the owner's files when the store is closed. These files never change, so a
difference is damage. CRC-32 is read at memory speed (3.8 GB/s where SHA-256 makes 1.3) and finds
accidents; it is no protection against forgery. A file that was there before, as a hard link, keeps
its checksum and is not read again. The checksum of a file that an owner found when it opened the
store proves less than that of a file that was written since: damage may have come first. Such files
are marked.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kgbench import files

TABLE = ".sst"  # ends the names of the files that hold the indexes and never change
_CHUNK = 1 << 20
_NOT_CONTENT = ("LOCK", "LOG")  # made by whoever opens the database, read by nobody


class Sum(NamedTuple):
    """Size in bytes and CRC-32 of a file, and whether they were taken soon after it was written."""

    size: int
    crc: int
    fresh: bool


def place(snapshot: Path) -> Path:
    """Where the checksums of a snapshot lie."""
    return snapshot.with_name(snapshot.name + ".sums")


def take(
    folder: Path, snapshot: Path, previous: Iterable[Path] = (), *, fresh: bool = True
) -> None:
    """Write the checksums of the files in ``folder``, which will become ``snapshot``.

    ``previous`` are folders with checksums that may share files with it. ``fresh``: its other files
    were written since this process opened the store.
    """
    known: dict[int, Sum] = {}
    for earlier in previous:
        for name, value in (read(earlier) or {}).items():
            with suppress(FileNotFoundError):
                if name.endswith(TABLE):
                    known[(earlier / name).stat().st_ino] = value
    found = {}
    for file in _content(folder):
        with suppress(FileNotFoundError):  # the engine may still be tidying up
            entry = file.stat()
            earlier_sum = known.get(entry.st_ino)
            # A file that was damaged since keeps its first checksum, which tells of the damage.
            if earlier_sum is not None and earlier_sum.size == entry.st_size:
                found[file.name] = earlier_sum
            else:
                found[file.name] = Sum(entry.st_size, crc(file), fresh)
    files.write(place(snapshot), json.dumps(found, indent=0))


def read(snapshot: Path) -> Mapping[str, Sum] | None:
    """The checksums of a snapshot by file name; ``None`` where there are none to read."""
    try:
        said = json.loads(place(snapshot).read_bytes())
        return {
            str(name): Sum(int(size), int(number), bool(fresh))
            for name, (size, number, fresh) in said.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def faults(snapshot: Path, budget: int | None = None) -> Iterator[str]:
    """What is wrong with the files of a snapshot, one message per file.

    With a ``budget`` in bytes, sizes are compared of all files, and content of the smallest that
    fit into it together. Nothing can be wrong where there are no checksums.
    """
    expected = read(snapshot)
    if expected is None:
        return
    left = budget
    for name, (size, expected_crc, _) in sorted(expected.items(), key=lambda item: item[1].size):
        file = snapshot / name
        try:
            there = file.stat().st_size
            if there != size:
                yield f"{name} has {there} of {size} bytes"
                continue
            if left is not None:
                left -= size
            if (left is None or left >= 0) and crc(file) != expected_crc:
                yield f"{name} has changed since it was written"
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror}"


def is_proof(snapshot: Path) -> bool:
    """Whether checksums that hold prove all tables of a snapshot as they were written."""
    tables = [one for name, one in (read(snapshot) or {}).items() if name.endswith(TABLE)]
    return bool(tables) and all(one.fresh for one in tables)


def _content(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and not file.name.startswith(_NOT_CONTENT)
    )


def crc(file: Path) -> int:
    """The CRC-32 of a file."""
    found = 0
    with file.open("rb", buffering=0) as content:
        while chunk := content.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found
