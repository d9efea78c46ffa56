# SPDX-License-Identifier: Apache-2.0
"""The store: its location, owner and size, and whether its parts are consistent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kgbench.doctor import Condition, State
from kgbench.errors import KgbenchError
from kgbench.store import back_ends, examination, maintenance, open_reader, snapshots
from kgbench.store.databases import is_store

_LOW_SPACE = 1 << 30  # bytes of free space below which a note is due
_SHOWN = 3  # problems
_condition = partial(Condition, "store")


def store(location: str, *, network: bool) -> Iterator[Condition]:
    """Yield the conditions of the store at ``location``; contact a server only with ``network``."""
    if location == "memory:":
        words = "a store in memory ends with the command that made it"
        yield _condition("location", State.NOTE, words)
    elif back_ends.is_remote(location):
        yield from _remote(location, network=network)
    else:
        yield from _embedded(Path(location))


def _remote(location: str, *, network: bool) -> Iterator[Condition]:
    try:
        server = back_ends.find(location)
    except KgbenchError as error:
        yield _condition("location", State.BROKEN, str(error))
        return
    words, facts = f"{server.location}, a server ({server.kind})", {"location": server.location}
    yield _condition("location", State.OK, words, None, facts)
    if network:
        yield from _content(location)
    else:
        advice = "ask the server: add --network"
        yield _condition("content", State.NOTE, "was not checked", advice)


def _embedded(path: Path) -> Iterator[Condition]:
    if not path.exists():
        words = f"there is no store at {path}"
        yield _condition("location", State.ABSENT, words, "`kgbench run` creates one")
        return
    if not is_store(path):
        words = f"{path} exists, but is not a kgbench store"
        yield _condition("location", State.BROKEN, words, "choose another with --store")
        return
    with examination.unowned(path) as process:
        owner = process
    size, kept = _bytes(path), snapshots.all_of(path / "snapshots")
    facts = {"location": str(path), "owner": owner, "bytes": size, "snapshots": len(kept)}
    words = f"{path}, {_mebibytes(size)}, {len(kept)} snapshots"
    yield _condition("location", State.OK, words, None, facts)
    if owner is not None:
        words = f"{owner} owns it now; readers see its newest snapshot"
        yield _condition("owner", State.NOTE, words)
    elif snapshots.is_dirty(path):
        words = "its last writer did not close it; no acknowledged write is lost"
        advice = "none needed: the next command that opens it repairs it"
        yield _condition("owner", State.NOTE, words, advice)
    else:
        yield _condition("owner", State.OK, "no process owns it, and it was closed properly")
    free = shutil.disk_usage(path).free
    if free < _LOW_SPACE:
        words = f"only {_mebibytes(free)} are free on the disk of the store"
        yield _condition("space", State.NOTE, words, None, {"free": free})
    yield from _content(str(path))


def _content(location: str) -> Iterator[Condition]:
    """Yield the result of ``kgbench store check``: layout, registry, stamps, graphs, snapshots."""
    try:
        if back_ends.is_remote(location):
            with open_reader(location) as reader:
                report = maintenance.check(reader)
        else:
            report = examination.check(Path(location))
    except (KgbenchError, OSError) as error:
        yield _condition("content", State.BROKEN, str(error))
        return
    facts: dict[str, Any] = report.as_json()
    if report.problems:
        listed = report.problems[:_SHOWN] + (["..."] if report.problems[_SHOWN:] else [])
        words = f"{len(report.problems)} problems: {'; '.join(listed)}"
        advice = (
            "see `kgbench store check`; `kgbench store compact` removes what belongs to nothing, "
            "`kgbench store recover` saves what is not damaged"
        )
        yield _condition("content", State.BROKEN, words, advice, facts)
        return
    writer = f"; being written by {report.writer}" if report.writer else ""
    words = (
        f"layout {report.layout}, {report.graphs:,} graphs and {report.triples:,} triples, "
        f"registry and graphs agree{writer}"
    )
    yield _condition("content", State.OK, words, None, facts)


def _bytes(path: Path) -> int:
    """Return the bytes on disk; hard-linked files count once."""
    sizes: dict[tuple[int, int], int] = {}
    for file in path.rglob("*"):
        try:
            status = file.stat()
        except OSError:  # another process has removed it in the meantime
            continue
        sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB"
