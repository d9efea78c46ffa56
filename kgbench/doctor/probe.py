# SPDX-License-Identifier: Apache-2.0
"""A process that locks itself down and reports what is refused: ``-m kgbench.doctor.probe BYTES``.

It uses the lockdown of the judging processes (:mod:`kgbench.children.lockdown`) and tries what a
hostile answer would try.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import sys
from collections.abc import Callable

from kgbench.children import lockdown


def main() -> None:
    """Lock down the process, try each access, and print as JSON which ones were refused."""
    memory = int(sys.argv[1])
    lockdown.lock_down(memory)
    tried: dict[str, Callable[[], object]] = {
        "sockets": socket.socket,
        "files": lambda: os.close(os.open(os.devnull, os.O_RDONLY)),
        "memory": lambda: mmap.mmap(-1, 2 * memory).close(),  # no page of it is touched
    }
    refused = dict.fromkeys(tried, False)
    for name, attempt in tried.items():
        try:
            attempt()
        except (OSError, MemoryError):
            refused[name] = True
    sys.stdout.write(json.dumps(refused) + "\n")


if __name__ == "__main__":
    main()
