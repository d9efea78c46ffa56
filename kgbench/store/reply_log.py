# SPDX-License-Identifier: Apache-2.0
"""The location of a store's write-ahead log of replies."""

from __future__ import annotations

import os
from pathlib import Path

from kgbench.store import back_ends

VARIABLE = "KGBENCH_WRITE_AHEAD"


def folder(location: str) -> Path | None:
    """Return the folder of the log of the store at ``location``; ``None`` for a store in memory.

    For an embedded store it is in the store's folder. For a store on a server it is on this
    machine, in a folder named after the server's address: below ``KGBENCH_WRITE_AHEAD`` if set,
    else below ``kgbench/write-ahead`` in the user's state folder (``XDG_STATE_HOME``, by default
    ``~/.local/state``).
    """
    if location == "memory:":
        return None
    if not back_ends.is_remote(location):
        return Path(location) / "write-ahead"
    default = back_ends.state_folder("write-ahead", location)
    base = os.environ.get(VARIABLE)
    return Path(base) / default.name if base else default
