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

from kgbench.children import lockdown


def main() -> None:
    """Lock down the process, try each access, and print as JSON which ones were refused."""
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
    """Try to map memory, without touching a page of it; return whether that was refused."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return True
    return False


if __name__ == "__main__":
    main()
