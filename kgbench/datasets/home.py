# SPDX-License-Identifier: Apache-2.0
"""Where installed data sets lie: one folder for all of them, a subfolder for each."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kgbench.errors import ResourceError, TaskError
from kgbench.model import Json

VARIABLE = "KGBENCH_DATASETS"
RECORD = "installed.json"


def home() -> Path:
    """The folder of installed data sets, which need not exist.

    ``KGBENCH_DATASETS`` if set, else ``kgbench/datasets`` in the user's data folder
    (``XDG_DATA_HOME``, by default ``~/.local/share``).
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME")
    data = Path(base) if base else Path.home() / ".local" / "share"
    return data / "kgbench" / "datasets"


def place(name: str) -> Path:
    """Where the data set ``name`` lies when it is installed."""
    return home() / name


def record(name: str) -> dict[str, Json] | None:
    """What was noted when the data set ``name`` was installed; ``None`` where it is not.

    Raises :class:`~kgbench.errors.ResourceError` where the note cannot be read.
    """
    path = place(name) / RECORD
    if not path.is_file():
        return None
    try:
        found: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResourceError(f"{path} cannot be read: {error}; install {name} again") from error
    return found


def require(name: str, *, fetched: bool = False) -> Path:
    """Where the data set ``name`` lies.

    ``fetched`` says that it can be fetched from an address. Raises
    :class:`~kgbench.errors.TaskError`, with the command that installs it, where it is not there.
    """
    if record(name) is None:
        command = f"kgbench datasets install {name}"
        raise TaskError(
            f"the data set {name} is not installed: "
            + (
                f"'{command}' fetches it, '--from DIR' takes a copy that you have"
                if fetched
                else f"'{command} --from PATH'"
            )
        )
    return place(name)


def installed() -> list[str]:
    """The names of the data sets that are installed, sorted."""
    return sorted(path.parent.name for path in home().glob(f"*/{RECORD}"))


def labelled_tasks() -> list[tuple[str, str, dict[str, Json]]]:
    """Tasks that installed data sets bring: name of the class, label, parameters."""
    return [
        (task["class"], task["label"], dict(task["parameters"]))
        for name in installed()
        for task in (record(name) or {}).get("tasks", ())
    ]
