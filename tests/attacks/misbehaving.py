# SPDX-License-Identifier: Apache-2.0
"""Every misbehaving server as a store, against every client of stores at full size.

Each client has a process of its own, which may use 2 GB; a new one follows if it ends.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kgbench.secrets import SecretDetector
from tests.attacks import clients
from tests.attacks.servers import ATTACKS, Server

MEMORY = 2 << 30
PATIENCE = 600.0  # seconds; a client may try again, each time within its own limit
STORES = tuple(name for name in clients.CLIENTS if name.startswith("store"))


class Tried(NamedTuple):
    """One attack on one client: seconds, maximal megabytes, final output, whether a key leaked."""

    client: str
    attack: str
    seconds: float
    megabytes: int
    said: str
    leaked: bool

    @property
    def survived(self) -> bool:
        """Return whether the client ended as it has to."""
        return not self.said.startswith(("HANGS", "TRACEBACK"))


def attempts(size: int) -> list[Tried]:
    """Return what became of all attacks on all clients; large responses have ``size`` bytes."""
    with ThreadPoolExecutor(len(STORES)) as pool:
        return [one for found in pool.map(lambda name: _all(name, size), STORES) for one in found]


def _all(client: str, size: int) -> list[Tried]:
    """Carry out all attacks on a client, one after another."""
    found: list[Tried] = []
    while len(found) < len(ATTACKS):
        command = [sys.executable, "-m", "tests.attacks.misbehaving", client]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as child,
        ):
            for attack in list(ATTACKS)[len(found) :]:
                found.append(_tried(child, client, attack, size))
                if not found[-1].survived:
                    child.kill()
                    errors.seek(0)
                    found[-1] = found[-1]._replace(said=found[-1].said + errors.read()[-300:])
                    break
            assert child.stdin is not None
            child.stdin.close()
    return found


def _tried(child: subprocess.Popen[str], client: str, attack: str, size: int) -> Tried:
    """Have a client meet an attack."""
    assert child.stdin is not None
    assert child.stdout is not None
    overdue = threading.Timer(PATIENCE, child.kill)
    with Server(None) as elsewhere, Server(attack, size, elsewhere.url) as server:
        began = time.monotonic()
        overdue.start()
        child.stdin.write(server.url + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
        overdue.cancel()
        seconds = time.monotonic() - began
        planted = SecretDetector([clients.KEY, clients.PASSWORD])
        leaked = planted.tells(line) or planted.tells(
            b"\n".join(elsewhere.requests).decode("latin-1")
        )
    if not line:
        said = "HANGS" if seconds >= PATIENCE else "TRACEBACK "
        return Tried(client, attack, seconds, 0, said, leaked)
    noted = json.loads(line)
    return Tried(client, attack, seconds, noted["megabytes"], noted["said"], leaked)


def _client(name: str) -> None:
    """Meet the server at each address; print the client's final output and its peak of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with clients.environment():
        for url in sys.stdin:
            said = clients.said(name, url.strip())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            sys.stdout.write(json.dumps({"said": said, "megabytes": peak}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _client(sys.argv[1])
