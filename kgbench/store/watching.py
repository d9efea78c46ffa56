# SPDX-License-Identifier: Apache-2.0
"""A memory watchdog for readers of damaged snapshots.

If an index is damaged, Oxigraph's iterators return the same error forever, and its aggregates and
sorts collect these errors: the process would grow until the system kills it, and the engine cannot
be interrupted. Therefore a thread checks the memory of the process ten times a second. If it has
grown by :data:`GROWTH` and keeps growing, the thread examines the open stores. Damage ends the
process with a message. A sound store is examined only once.
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
_FAST = 50 << 20  # bytes per second; endless queries were seen to take 150 MiB and more
_RESERVE = 0.05  # share of the machine's memory that must stay available


class Watched(Protocol):
    """An open store."""

    def to_examine(self) -> Path:
        """Return the snapshot that is read, or a new one of an owned store."""
        ...


_lock = threading.Lock()
_open: weakref.WeakSet[Watched] = weakref.WeakSet()
_changed = threading.Event()
_thread: list[threading.Thread] = []


def begin(store: Watched) -> None:
    """Watch the memory until :func:`end`, or until ``store`` is garbage collected."""
    with _lock:
        _open.add(store)
        if not _thread or not _thread[0].is_alive():
            _thread[:] = [threading.Thread(target=_watch, name="kgbench-memory", daemon=True)]
            _changed.clear()
            _thread[0].start()


def end(store: Watched) -> None:
    """Stop watching for ``store``; does nothing if it is not watched."""
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
            stores = list(_open)
            if not stores:
                _thread.clear()
                return
        resident = _resident()
        growing, before = resident - before > _FAST * _EVERY, resident
        if growing and resident > begun + GROWTH:
            for store in stores:
                if store not in sound and _is_sound(store):
                    sound.add(store)
        stores.clear()  # so that unreferenced stores can be collected


def _is_sound(store: Watched) -> bool:
    """Return whether an open store is sound; end the process if it is damaged and grows."""
    faults: list[str | None] = []
    examining = threading.Thread(target=lambda: faults.append(_fault(store)), daemon=True)
    examining.start()
    while examining.is_alive():
        examining.join(_EVERY)
        if _available() < _RESERVE * _total() and _is_growing():
            _give_up("the memory of this machine is nearly used up")
    fault = faults[0] if faults else None
    if fault is not None and _is_growing():
        _give_up(fault)
    return fault is None


def _fault(store: Watched) -> str | None:
    """Return the damage of the database that a store reads; ``None`` if it is unknown."""
    from kgbench.store.examination import examine  # rarely needed

    try:
        folder = store.to_examine()
    except (KgbenchError, OSError, RuntimeError):
        return None  # the store was closed or removed meanwhile, or the disk is full
    fault = next(checksums.faults(folder), None)
    if fault is None and not checksums.is_proof(folder):
        fault = next(iter(examine(folder).damage), None)
    if fault is None:
        return None
    snapshots.note_damage(folder, fault)
    return f"the snapshot {folder} is damaged ({fault})"


def _is_growing() -> bool:
    before = _resident()
    threading.Event().wait(1.0)
    return _resident() - before > _FAST


def _give_up(reason: str) -> None:
    """End the process, because a query in the engine cannot be interrupted."""
    message = (
        f"kgbench: {reason}; a query that has taken {_resident() / (1 << 30):.1f} GiB was ended. "
        "`kgbench store check` shows what is damaged, `kgbench store recover` saves the rest\n"
    )
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, message.encode())
    os._exit(1)


def _resident() -> int:
    """Return the resident memory of this process in bytes; 0 on systems other than Linux."""
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
