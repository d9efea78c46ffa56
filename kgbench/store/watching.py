# SPDX-License-Identifier: Apache-2.0
"""Keeps the memory of readers bounded where a snapshot is damaged.

Oxigraph's aggregates and orders collect the errors of an index that cannot be read, and the index
gives the same error without end: the process would grow until the system kills it, and nothing can
interrupt the engine. So a thread looks at the memory of the process, ten times a second. Where it
has grown by :data:`GROWTH` and goes on growing, the thread examines what is open. Damage ends the
process with words. A healthy store is examined once and then left alone.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Protocol

from kgbench.errors import KgbenchError
from kgbench.store import checksums, snapshots

GROWTH = 1 << 30  # bytes
_EVERY = 0.1  # seconds
_FAST = 50 << 20  # bytes a second; an endless query was seen to take 150 MiB a second and more
_RESERVE = 0.05  # of the machine's memory


class Watched(Protocol):
    """A store that is open."""

    def to_examine(self) -> Path:
        """The snapshot that is read, or one of what is owned."""
        ...


_lock = threading.Lock()
_open: weakref.WeakSet[Watched] = weakref.WeakSet()
_changed = threading.Event()
_thread: list[threading.Thread] = []


def begin(store: Watched) -> None:
    """Watch the memory until :func:`end`, or until ``store`` is gone."""
    with _lock:
        _open.add(store)
        if not _thread or not _thread[0].is_alive():
            _thread[:] = [threading.Thread(target=_watch, name="kgbench-memory", daemon=True)]
            _changed.clear()
            _thread[0].start()


def end(store: Watched) -> None:
    """Stop watching for ``store``; harmless where it is not watched."""
    with _lock:
        _open.discard(store)
        if not _open:
            _changed.set()


def _watch() -> None:
    begun = before = _resident()
    sound: weakref.WeakSet[Watched] = weakref.WeakSet()
    while begun:
        _changed.wait(_EVERY)
        with _lock:
            there = list(_open)
            if not there:
                _thread.clear()
                return
        resident = _resident()
        growing, before = resident - before > _FAST * _EVERY, resident
        if growing and resident > begun + GROWTH:
            for store in there:
                if store not in sound and _is_sound(store):
                    sound.add(store)
        there.clear()  # what nobody else holds may go


def _is_sound(store: Watched) -> bool:
    """Whether a store that is open can be read; ends the process where it cannot, and grows on."""
    found: list[str | None] = []
    examining = threading.Thread(target=lambda: found.append(_fault(store)), daemon=True)
    examining.start()
    while examining.is_alive():
        examining.join(_EVERY)
        if _available() < _RESERVE * _total() and _is_growing():
            _give_up("the memory of this machine is nearly used up")
    fault = found[0] if found else None
    if fault is not None and _is_growing():
        _give_up(fault)
    return fault is None


def _fault(store: Watched) -> str | None:
    """What is wrong with the database that a store reads; nothing where it cannot be looked at."""
    from kgbench.store.examination import examine  # needed where something is wrong, so not at once

    try:
        folder = store.to_examine()
    except (KgbenchError, OSError, RuntimeError):  # closed or removed meanwhile, or a full disk
        return None
    found = next(checksums.faults(folder), None)
    if found is None and not checksums.is_proof(folder):
        found = next(iter(examine(folder).damage), None)
    if found is None:
        return None
    snapshots.note_damage(folder, found)
    return f"the snapshot {folder} is damaged ({found})"


def _is_growing() -> bool:
    before = _resident()
    threading.Event().wait(1.0)
    return _resident() - before > _FAST


def _give_up(why: str) -> None:
    """End the process: a query in the engine cannot be interrupted."""
    words = (
        f"kgbench: {why}; a query that has taken {_resident() / (1 << 30):.1f} GiB was ended. "
        "`kgbench store check` tells what is damaged, `kgbench store recover` saves what is not\n"
    )
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, words.encode())
    os._exit(1)


def _resident() -> int:
    """The memory of this process in bytes; 0 where the system does not tell (only Linux does)."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _available() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return _total()


def _total() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
