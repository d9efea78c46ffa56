# SPDX-License-Identifier: Apache-2.0
"""The folder of installed data sets, with a subfolder and an installation record for each."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kgbench.errors import ResourceError, TaskError
from kgbench.model import Json

VARIABLE = "KGBENCH_DATASETS"
RECORD = "installed.json"
GRAPH = "graph.nt"  # of a data set that has a graph, which has the name of the data set


def home() -> Path:
    """Return the folder of installed data sets, which need not exist.

    It is ``KGBENCH_DATASETS`` if set, else ``kgbench/datasets`` in the user's data folder
    (``XDG_DATA_HOME``, by default ``~/.local/share``).
    """
    if configured := os.environ.get(VARIABLE):
        return Path(configured)
    base = os.environ.get("XDG_DATA_HOME")
    data = Path(base) if base else Path.home() / ".local" / "share"
    return data / "kgbench" / "datasets"


def folder_of(name: str) -> Path:
    """Return the folder of the data set ``name``, whether or not it is installed."""
    return home() / name


def installation_record(name: str) -> dict[str, Json] | None:
    """Return the installation record of the data set ``name``, or ``None`` if not installed.

    Raises :class:`~kgbench.errors.ResourceError` if the record cannot be read.
    """
    path = folder_of(name) / RECORD
    if not path.is_file():
        return None
    try:
        content: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResourceError(f"{path} cannot be read: {error}; install {name} again") from error
    return content


def require_folder(name: str, *, fetched: bool = False) -> Path:
    """Return the folder of the data set ``name``.

    ``fetched`` is true for data sets that can be downloaded. Raises
    :class:`~kgbench.errors.TaskError`, with the command that installs it, if it is not installed.
    """
    if installation_record(name) is None:
        command = f"kgbench datasets install {name}"
        raise TaskError(
            f"the data set {name} is not installed: "
            + (
                f"'{command}' fetches it, '--from DIR' takes a copy that you have"
                if fetched
                else f"'{command} --from PATH'"
            )
        )
    return folder_of(name)


def installed() -> list[str]:
    """Return the sorted names of the installed data sets."""
    return sorted(path.parent.name for path in home().glob(f"*/{RECORD}"))


def labelled_tasks() -> list[tuple[str, str, dict[str, Json]]]:
    """Return the tasks of installed data sets: name of the class, label, parameters."""
    return [
        (task["class"], task["label"], dict(task["parameters"]))
        for name in installed()
        for task in (installation_record(name) or {}).get("tasks", ())
    ]
