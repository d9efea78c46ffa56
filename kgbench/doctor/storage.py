# SPDX-License-Identifier: Apache-2.0
"""The store: where it is, who owns it, how large it is, and whether its parts agree."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from kgbench.doctor.conditions import Condition, State
from kgbench.errors import KgbenchError
from kgbench.model import Json
from kgbench.store import back_ends, maintenance, open_reader, snapshots
from kgbench.store.reader import SnapshotReader

_LITTLE = 1 << 30  # bytes of free space that are worth a word
_SHOWN = 3  # problems


def store(location: str, *, network: bool) -> Iterator[Condition]:
    """Yield the store at ``location``; one on a server is asked only where ``network`` is true."""
    if location == "memory:":
        words = "a store in memory ends with the command that made it"
        yield Condition("store", "location", State.NOTE, words)
    elif back_ends.is_remote(location):
        yield from _remote(location, network=network)
    else:
        yield from _embedded(Path(location))


def _remote(location: str, *, network: bool) -> Iterator[Condition]:
    try:
        found = back_ends.find(location)
    except KgbenchError as error:
        yield Condition("store", "location", State.BROKEN, str(error))
        return
    words = f"{found.location}, a server ({found.kind})"
    yield Condition("store", "location", State.OK, words, None, {"location": found.location})
    if network:
        yield from _content(location)
    else:
        yield Condition(
            "store", "content", State.NOTE, "was not looked at", "ask the server: add --network"
        )


def _embedded(path: Path) -> Iterator[Condition]:
    if not path.exists():
        yield Condition(
            "store", "location", State.ABSENT, f"there is none at {path}", "`kgbench run` makes one"
        )
        return
    if not (path / "lock").is_file():
        words = f"{path} is there, but no kgbench store"
        yield Condition("store", "location", State.BROKEN, words, "name another with --store")
        return
    owner, sizes = _owner(path), _sizes(path)
    facts = {"location": str(path), "owner": owner, **sizes}
    words = f"{path}, {_size(sizes['bytes'])}, {sizes['snapshots']} snapshots"
    yield Condition("store", "location", State.OK, words, None, facts)
    yield _ownership(path, owner)
    free = shutil.disk_usage(path).free
    if free < _LITTLE:
        words = f"only {_size(free)} are free where the store is"
        yield Condition("store", "space", State.NOTE, words, None, {"free": free})
    yield from _content(str(path), snapshots.newest(path / "snapshots"))


def _ownership(path: Path, owner: str | None) -> Condition:
    if owner is not None:
        words = f"process {owner} owns it now; readers see its newest snapshot"
        return Condition("store", "owner", State.NOTE, words)
    if snapshots.is_dirty(path):
        words = "its last writer did not come to close it; nothing acknowledged is lost"
        advice = "none needed: whoever opens it next sets it right"
        return Condition("store", "owner", State.NOTE, words, advice)
    return Condition("store", "owner", State.OK, "nobody owns it now, and it was closed properly")


def _content(location: str, newest: Path | None = None) -> Iterator[Condition]:
    """Layout, registry, stamps and graphs, as ``kgbench store check`` looks at them.

    ``newest`` is the snapshot that is to be read, where the store has any.
    """
    try:
        with open_reader(location) as reader:
            found = maintenance.check(reader)
            read = reader.snapshot if isinstance(reader, SnapshotReader) else None
    except (KgbenchError, OSError) as error:
        yield Condition("store", "content", State.BROKEN, str(error))
        return
    if newest is not None and read is not None and int(read.name) < int(newest.name):
        yield Condition(
            "store",
            "snapshot",
            State.BROKEN,
            f"the newest, {newest.name}, is damaged: readers see {read.name}, which may lack the "
            "latest results",
            f"`kgbench store check --store {location}` tells what is damaged, "
            f"`kgbench store recover NEW --store {location}` saves what is not",
        )
    facts: dict[str, Json] = {
        "layout": found.layout,
        "graphs": found.graphs,
        "triples": found.triples,
    }
    if found.problems:
        several = found.problems[:_SHOWN] + (["..."] if found.problems[_SHOWN:] else [])
        yield Condition(
            "store",
            "content",
            State.BROKEN,
            f"{len(found.problems)} things are wrong: {'; '.join(several)}",
            "see `kgbench store check`; `kgbench store compact` removes what belongs to nothing",
            {**facts, "problems": found.problems},
        )
        return
    words = (
        f"layout {found.layout}, {found.graphs:,} graphs and {found.triples:,} triples, "
        "registry and graphs agree"
    )
    if found.writer is not None:
        facts["writer"] = found.writer
        words += f"; being written by {found.writer}"
    yield Condition("store", "content", State.OK, words, None, facts)


def _owner(path: Path) -> str | None:
    """The process that owns the store, ``"?"`` where it does not say; ``None`` if nobody does.

    The lock is tried as a reader: that is over before a writer can notice.
    """
    try:
        with (path / "lock").open(encoding="ascii", errors="replace") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return handle.read().strip() or "?"
    except OSError:
        return "?"
    return None


def _sizes(path: Path) -> dict[str, int]:
    """Bytes on disk, every file counted once: snapshots share theirs by hard links."""
    seen: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                found = (Path(folder) / name).stat()
            except OSError:  # gone in the meantime: another process cleans up
                continue
            seen[found.st_dev, found.st_ino] = found.st_size
    taken = [one for one in path.glob("snapshots/*") if one.is_dir() and one.name.isdigit()]
    return {"bytes": sum(seen.values()), "snapshots": len(taken)}


def _size(count: int) -> str:
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:  # noqa: PLR2004 - the units say it
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
