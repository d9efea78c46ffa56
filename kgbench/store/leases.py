# SPDX-License-Identifier: Apache-2.0
"""Leases of stores on servers, recorded in the store, so that there is one writer at a time.

The holder of the lease is the owner of the store. A lease ends when its holder releases it, or
:data:`SECONDS` after the last renewal; the lease of a dead process on this machine can be taken
immediately. A holder that could not renew its lease in time stops writing. Times are those of the
writers' clocks, which must differ by less than :data:`SECONDS`.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import threading
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from kgbench.errors import StoreError, StoreInUse
from kgbench.rdf import moment, string
from kgbench.store.client import Client
from kgbench.store.iris import Iris
from kgbench.store.templates import fill

SECONDS = 60.0  # duration of a lease that is not renewed
_EVERY = 15.0  # seconds between two renewals
_TOKEN = re.compile(r"([0-9a-f]{16})\.(\d+)\.[0-9a-f]{32}")


class LeaseHolder(NamedTuple):
    """A lease: the holder's secret token, its end, and a description of the holder."""

    token: str
    until: datetime
    who: str


class Lease:
    """The lease of a store; call :meth:`hold` before each write, and :meth:`end` at the end.

    Raises :class:`~kgbench.errors.StoreInUse` if another process holds it.
    """

    def __init__(self, client: Client, iris: Iris, location: str) -> None:
        self._client = client
        self._location = location
        self._names = {"graph": iris.mint("leaseGraph"), "lease": iris.mint("lease")}
        self.token = f"{_machine()}.{os.getpid()}.{uuid.uuid4().hex}"
        self._lost: str | None = None
        self._renewing = threading.Lock()
        self._ended = threading.Event()
        self._renewed = time.monotonic()
        self._take()
        self._thread = threading.Thread(target=self._work, name="kgbench-lease", daemon=True)
        self._thread.start()

    def hold(self) -> None:
        """Check that the lease is still ours; raise :class:`StoreInUse` if it is not."""
        if self._lost is None and time.monotonic() - self._renewed > SECONDS / 2:
            self._renew()
        if self._lost is not None:
            raise StoreInUse(
                f"the store {self._location} was taken over by {self._lost} while this process "
                "could not renew its lease: nothing more is written here"
            )

    def end(self) -> None:
        """Release the lease; may be called twice."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        if self._lost is None:
            self._update("lease-end.ru")

    def note(self, graph: str) -> None:
        """Note that a graph is loaded, so that who takes the lease over may remove it."""
        self._update("lease-loads.ru", loaded=graph)

    def loaded(self) -> list[str]:
        """Return the graphs that earlier holders noted and did not release the lease after."""
        rows = self._client.query(fill("lease-loaded.rq", **self._names))
        return [row["loaded"].value for row in rows]

    def _take(self) -> None:
        before, now = holder(self._client, self._names), datetime.now(UTC)
        gone = before.token if before is not None and _is_gone(before.token) else "nobody"
        who = f"{socket.gethostname()}, process {os.getpid()}"
        until = moment(now + timedelta(seconds=SECONDS))
        self._update(
            "lease-take.ru", who=string(who), now=moment(now), until=until, gone=string(gone)
        )
        held = holder(self._client, self._names)
        if held is None:
            raise StoreError(
                f"the server of {self._location} accepted an update but does not show it: check "
                "that its addresses for queries and updates belong to the same server"
            )
        if held.token != self.token:
            raise StoreInUse(
                f"the store {self._location} is in use by another kgbench ({held.who}): wait for "
                f"it to end, or choose another store with --store; if it is gone, the store can be "
                f"used from {held.until:%H:%M:%S} UTC on"
            )

    def _work(self) -> None:
        while not self._ended.wait(_EVERY):
            with suppress(StoreError):  # hold() raises the error when it matters
                self._renew()

    def _renew(self) -> None:
        with self._renewing:
            begin = time.monotonic()
            until = moment(datetime.now(UTC) + timedelta(seconds=SECONDS))
            self._update("lease-renew.ru", until=until)
            held = holder(self._client, self._names)
            if held is not None and held.token == self.token:
                self._renewed = begin
            else:
                self._lost = "nobody (its lease is gone)" if held is None else held.who

    def _update(self, template: str, **parts: str) -> None:
        self._client.update(fill(template, token=string(self.token), **parts, **self._names))


def holder(client: Client, names: dict[str, str]) -> LeaseHolder | None:
    """Return the recorded holder of the lease that ``names`` identifies, expired or not."""
    leases = [
        LeaseHolder(token.value, datetime.fromisoformat(until.value), who.value)
        for token, until, who in client.query(fill("lease.rq", **names))
    ]
    return min(leases, default=None)  # two processes may have taken it at once: all choose the same


def _is_gone(token: str) -> bool:
    """Return whether the holder is known to be dead."""
    parts = _TOKEN.fullmatch(token)
    if parts is None or parts[1] != _machine():
        return False
    try:
        os.kill(int(parts[2]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


def _machine() -> str:
    """Return an identifier of this machine since its last boot, and of the container, if any."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        known.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]
