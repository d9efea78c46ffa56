# SPDX-License-Identifier: Apache-2.0
"""The store: its location, owner and size, and whether its parts are consistent."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from kgbench.doctor import Condition, State
from kgbench.errors import KgbenchError
from kgbench.model import Json
from kgbench.store import back_ends, maintenance, open_reader, snapshots
from kgbench.store.databases import is_store
from kgbench.store.reader import SnapshotReader

_LOW_SPACE = 1 << 30  # bytes of free space below which a note is due
_SHOWN = 3  # problems


def store(location: str, *, network: bool) -> Iterator[Condition]:
    """Yield the conditions of the store at ``location``; contact a server only with ``network``."""
    if location == "memory:":
        words = "a store in memory ends with the command that made it"
        yield Condition("store", "location", State.NOTE, words)
    elif back_ends.is_remote(location):
        yield from _remote(location, network=network)
    else:
        yield from _embedded(Path(location))


def _remote(location: str, *, network: bool) -> Iterator[Condition]:
    try:
        server = back_ends.find(location)
    except KgbenchError as error:
        yield Condition("store", "location", State.BROKEN, str(error))
        return
    words = f"{server.location}, a server ({server.kind})"
    yield Condition("store", "location", State.OK, words, None, {"location": server.location})
    if network:
        yield from _content(location)
    else:
        yield Condition(
            "store", "content", State.NOTE, "was not checked", "ask the server: add --network"
        )


def _embedded(path: Path) -> Iterator[Condition]:
    if not path.exists():
        yield Condition(
            "store",
            "location",
            State.ABSENT,
            f"there is no store at {path}",
            "`kgbench run` creates one",
        )
        return
    if not is_store(path):
        words = f"{path} exists, but is not a kgbench store"
        yield Condition("store", "location", State.BROKEN, words, "choose another with --store")
        return
    owner, sizes = _owner(path), _sizes(path)
    facts = {"location": str(path), "owner": owner, **sizes}
    words = f"{path}, {_size(sizes['bytes'])}, {sizes['snapshots']} snapshots"
    yield Condition("store", "location", State.OK, words, None, facts)
    yield _ownership(path, owner)
    free = shutil.disk_usage(path).free
    if free < _LOW_SPACE:
        words = f"only {_size(free)} are free on the disk of the store"
        yield Condition("store", "space", State.NOTE, words, None, {"free": free})
    yield from _content(str(path), snapshots.newest(path / "snapshots"))


def _ownership(path: Path, owner: str | None) -> Condition:
    if owner is not None:
        words = f"process {owner} owns it now; readers see its newest snapshot"
        return Condition("store", "owner", State.NOTE, words)
    if snapshots.is_dirty(path):
        words = "its last writer did not close it; no acknowledged write is lost"
        advice = "none needed: the next command that opens it repairs it"
        return Condition("store", "owner", State.NOTE, words, advice)
    return Condition("store", "owner", State.OK, "no process owns it, and it was closed properly")


def _content(location: str, newest: Path | None = None) -> Iterator[Condition]:
    """Yield the result of ``kgbench store check``: layout, registry, stamps and graphs.

    ``newest`` is the newest snapshot of the store, if it has any; a reader falls back to an older
    one if it is damaged.
    """
    try:
        with open_reader(location) as reader:
            report = maintenance.check(reader)
            snapshot = reader.snapshot if isinstance(reader, SnapshotReader) else None
    except (KgbenchError, OSError) as error:
        yield Condition("store", "content", State.BROKEN, str(error))
        return
    if newest is not None and snapshot is not None and int(snapshot.name) < int(newest.name):
        yield Condition(
            "store",
            "snapshot",
            State.BROKEN,
            f"the newest, {newest.name}, is damaged: readers see {snapshot.name}, which may lack "
            "the latest results",
            f"`kgbench store check --store {location}` tells what is damaged, "
            f"`kgbench store recover NEW --store {location}` saves what is not",
        )
    facts: dict[str, Json] = {
        "layout": report.layout,
        "graphs": report.graphs,
        "triples": report.triples,
    }
    if report.problems:
        listed = report.problems[:_SHOWN] + (["..."] if report.problems[_SHOWN:] else [])
        yield Condition(
            "store",
            "content",
            State.BROKEN,
            f"{len(report.problems)} problems: {'; '.join(listed)}",
            "see `kgbench store check`; `kgbench store compact` removes what belongs to nothing",
            {**facts, "problems": report.problems},
        )
        return
    words = (
        f"layout {report.layout}, {report.graphs:,} graphs and {report.triples:,} triples, "
        "registry and graphs agree"
    )
    if report.writer is not None:
        facts["writer"] = report.writer
        words += f"; being written by {report.writer}"
    yield Condition("store", "content", State.OK, words, None, facts)


def _owner(path: Path) -> str | None:
    """Return the id of the process that owns the store: ``"?"`` if unknown, ``None`` if none does.

    The test takes a shared lock for a moment, which does not disturb a writer.
    """
    try:
        with (path / "lock").open(encoding="ascii", errors="replace") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return handle.read().strip() or "?"
    except FileNotFoundError:  # lost
        return None
    except OSError:
        return "?"
    return None


def _sizes(path: Path) -> dict[str, int]:
    """Return the bytes on disk and the number of snapshots; hard-linked files count once."""
    sizes: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                status = (Path(folder) / name).stat()
            except OSError:  # another process has removed it in the meantime
                continue
            sizes[status.st_dev, status.st_ino] = status.st_size
    snapshots = [
        entry for entry in path.glob("snapshots/*") if entry.is_dir() and entry.name.isdigit()
    ]
    return {"bytes": sum(sizes.values()), "snapshots": len(snapshots)}


def _size(count: int) -> str:
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:  # noqa: PLR2004 - the units say it
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
