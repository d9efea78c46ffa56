# SPDX-License-Identifier: Apache-2.0
"""Every misbehaving server against every client, each pair in its own process.

``python -m tests.attacks servers`` prints the table and sets the size of large responses. A process
may use 2 GB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kgbench.secrets.detection import SecretDetector
from tests.attacks import clients
from tests.attacks.servers import FAMILIES, Server

MEMORY = 2 << 30
PATIENCE = 600.0  # seconds; a client may try several addresses, or retry, each within its own limit


class Tried(NamedTuple):
    """One attack on one client: seconds, maximal megabytes, final output, whether a key leaked."""

    seconds: float
    megabytes: int
    said: str
    leaked: bool


def tried(client: str, attack: str, size: int) -> Tried:
    """Run ``client`` in its own process against ``attack``; large responses have ``size`` bytes."""
    with Server(None) as elsewhere, Server(attack, size, elsewhere.url) as server:
        began = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "tests.attacks.misbehaving",
            "--client",
            client,
            server.url,
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return Tried(PATIENCE, 0, "HANGS", leaked=False)
        seconds = time.monotonic() - began
        planted = SecretDetector([clients.KEY, clients.PASSWORD])
        sent = b"\n".join(elsewhere.requests).decode("latin-1")
        leaked = planted.tells(done.stdout + done.stderr) or planted.tells(sent)
    if done.returncode:
        return Tried(seconds, 0, f"TRACEBACK {done.stderr[-300:]}", leaked)
    noted = json.loads(done.stdout.splitlines()[-1])
    return Tried(seconds, noted["megabytes"], noted["said"], leaked)


def attempts(size: int, most: int) -> Iterator[tuple[str, dict[tuple[str, str], Tried]]]:
    """Yield each family of attacks with the results of all installed clients, by client and attack.

    ``most`` processes run at a time.
    """
    names = [name for name in clients.CLIENTS if clients.installed(name)]
    with ThreadPoolExecutor(most) as pool:
        for family, attacks in FAMILIES.items():
            pairs = [(name, attack) for attack in attacks for name in names]
            found = pool.map(lambda pair: tried(*pair, size), pairs)
            yield family, dict(zip(pairs, found, strict=True))


def _client() -> None:
    """Run a client against a server; print its final output and the memory it used."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with clients.environment():
        said = clients.said(*sys.argv[2:4])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(json.dumps({"said": said, "megabytes": peak}) + "\n")


if __name__ == "__main__":
    _client()
