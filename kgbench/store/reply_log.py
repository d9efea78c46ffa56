# SPDX-License-Identifier: Apache-2.0
"""Where the write-ahead log of a store lies: the replies that the store does not have yet."""

from __future__ import annotations

import os
from pathlib import Path

from kgbench.store import back_ends

VARIABLE = "KGBENCH_WRITE_AHEAD"


def folder(location: str) -> Path | None:
    """The folder of the log for the store at ``location``; ``None`` for a store in memory.

    For an embedded store it lies in the store's folder. For a store on a server it lies on this
    machine, in a folder that is named after the server's address: below ``KGBENCH_WRITE_AHEAD``
    if set, else below ``kgbench/write-ahead`` in the user's state folder (``XDG_STATE_HOME``, by
    default ``~/.local/state``).
    """
    if location == "memory:":
        return None
    if not back_ends.is_remote(location):
        return Path(location) / "write-ahead"
    found = back_ends.state_folder("write-ahead", location)
    named = os.environ.get(VARIABLE)
    return Path(named) / found.name if named else found
