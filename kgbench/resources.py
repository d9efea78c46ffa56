# SPDX-License-Identifier: Apache-2.0
"""Locations of declared resources: ontology, shapes, tasks, queries and the store layout.

In a checkout they are its top-level folders; an installed wheel has copies of the same folders
beside the code. The current folder has no influence.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kgbench.errors import ResourceError

FOLDERS = ("ontology", "shapes", "tasks", "queries", "rubrics", "store")

_PACKAGE = Path(__file__).resolve().parent


@cache
def checkout() -> Path | None:
    """Return the root of the checkout that this code runs from, or ``None`` if it is installed."""
    root = _PACKAGE.parent
    complete = (root / "pyproject.toml").is_file() and all(
        (root / name).is_dir() for name in FOLDERS
    )
    return root if complete else None


def folder(name: str) -> Path:
    """Return the folder of declared resources called ``name``, one of :data:`FOLDERS`.

    Raises :class:`~kgbench.errors.ResourceError` if it is missing.
    """
    root = checkout()
    location = (root / name) if root is not None else (_PACKAGE / "declared" / name)
    if name not in FOLDERS or not location.is_dir():
        raise ResourceError(
            f"the declared folder '{name}' is missing at {location}: reinstall kgbench, "
            f"or run from a complete checkout"
        )
    return location


def path(name: str, *parts: str) -> Path:
    """Return the path of a declared file, for example ``path("shapes", "results.ttl")``."""
    location = folder(name).joinpath(*parts)
    if not location.exists():
        raise ResourceError(
            f"the declared resource {name}/{'/'.join(parts)} is missing at {location}"
        )
    return location


def text(name: str, *parts: str) -> str:
    """Return the text of a declared file (UTF-8)."""
    return path(name, *parts).read_text(encoding="utf-8")
