# SPDX-License-Identifier: Apache-2.0
"""The keys that encrypted task files are opened with.

Two are tried: the published one, which travels with kgbench and only keeps crawlers from reading
reference answers, and one's own, from a file that a command was given or from the environment.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from kgbench import resources
from kgbench.errors import ResourceError

VARIABLE: Final = "KGBENCH_TASK_KEY"

_handed: list[str] = []  # keys that this process was given otherwise


def known() -> list[str]:
    """All keys at hand: those handed over first, then one's own, the published one last."""
    own = os.environ.get(VARIABLE)
    return [*_handed, *([own] if own else []), published()]


def own() -> str | None:
    """The key that was handed over, else the one in the environment, else ``None``."""
    return _handed[0] if _handed else os.environ.get(VARIABLE) or None


def hand(key: str | None) -> None:
    """Give this process a key; ``None`` takes back all that were given."""
    _handed[:] = [] if key is None else [key]


@cache
def published() -> str:
    """The key that kgbench's own files are encrypted with."""
    return from_file(resources.path("tasks", "published.key"))


def from_file(path: Path) -> str:
    """The key in a file: its only line that is neither empty nor begins with ``#``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"the key file {path} cannot be read: {error}") from error
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if len(found) != 1:
        raise ResourceError(f"the key file {path} has {len(found)} lines with a key instead of one")
    return found[0]
