# SPDX-License-Identifier: Apache-2.0
"""A process that locks itself down and says what it cannot do: ``-m kgbench.doctor.probe BYTES``.

It uses the lock of the judging children (:mod:`kgbench.execution.lockdown`), and tries what a
hostile answer would try.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import sys

from kgbench.execution import lockdown


def main() -> None:
    """Lock down, try, and print what was refused as JSON."""
    memory = int(sys.argv[1])
    lockdown.lock_down(memory)
    refused = {"sockets": _socket(), "files": _file(), "memory": _memory(2 * memory)}
    sys.stdout.write(json.dumps(refused) + "\n")


def _socket() -> bool:
    try:
        socket.socket().close()
    except OSError:
        return True
    return False


def _file() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    return False


def _memory(size: int) -> bool:
    """Address space alone: no page is touched where the limit does not hold."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return True
    return False


if __name__ == "__main__":
    main()
