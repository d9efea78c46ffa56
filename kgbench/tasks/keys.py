# SPDX-License-Identifier: Apache-2.0
"""Keys that decrypt task files.

There are two: the published key, which is shipped with kgbench and only keeps crawlers from reading
reference answers, and the user's own key, from a key file or an environment variable.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from kgbench import resources
from kgbench.errors import ResourceError

VARIABLE: Final = "KGBENCH_TASK_KEY"

_handed: list[str] = []  # the key that a command set in this process


def available_keys() -> list[str]:
    """Return all available keys: of :func:`set_key`, of the environment, and the published one."""
    user_key = os.environ.get(VARIABLE)
    return [*_handed, *([user_key] if user_key else []), published_key()]


def user_key() -> str | None:
    """Return the key set by :func:`set_key`, else the one in the environment, else ``None``."""
    return _handed[0] if _handed else os.environ.get(VARIABLE) or None


def set_key(key: str | None) -> None:
    """Set the key of this process; ``None`` removes it."""
    _handed[:] = [] if key is None else [key]


@cache
def published_key() -> str:
    """Return the key of kgbench's own encrypted files."""
    return read_key_file(resources.path("tasks", "published.key"))


def read_key_file(path: Path) -> str:
    """Read the key in a file: its only line that is neither empty nor begins with ``#``."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or error
        raise ResourceError(f"the key file {path} cannot be read: {reason}") from error
    except UnicodeDecodeError as error:
        raise ResourceError(f"the key file {path} cannot be read: {error}") from error
    lines = [line.strip() for line in text.splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if len(keys) != 1:
        raise ResourceError(f"the key file {path} has {len(keys)} lines with a key instead of one")
    return keys[0]
