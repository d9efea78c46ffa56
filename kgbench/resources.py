# SPDX-License-Identifier: Apache-2.0
"""Where declared things live: ontology, shapes, tasks, queries and the store layout.

In a checkout they are its top-level folders; in an installed wheel the build has put copies of
the same folders beside the code. Nothing else decides, least of all the current folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kgbench.errors import ResourceError

FOLDERS = ("ontology", "shapes", "tasks", "queries", "rubrics", "store")

_PACKAGE = Path(__file__).resolve().parent


@cache
def checkout() -> Path | None:
    """The root of the checkout this code runs from, or ``None`` when it is installed."""
    root = _PACKAGE.parent
    here = (root / "pyproject.toml").is_file() and all((root / name).is_dir() for name in FOLDERS)
    return root if here else None


def folder(name: str) -> Path:
    """The folder of declared things called ``name``, one of :data:`FOLDERS`."""
    root = checkout()
    found = (root / name) if root is not None else (_PACKAGE / "declared" / name)
    if name not in FOLDERS or not found.is_dir():
        raise ResourceError(
            f"the declared folder '{name}' is missing at {found}: reinstall kgbench, "
            f"or run from a complete checkout"
        )
    return found


def path(name: str, *parts: str) -> Path:
    """The path of one declared file, for example ``path("shapes", "results.ttl")``."""
    found = folder(name).joinpath(*parts)
    if not found.exists():
        raise ResourceError(f"the declared resource {name}/{'/'.join(parts)} is missing at {found}")
    return found


def text(name: str, *parts: str) -> str:
    """The text of one declared file (UTF-8)."""
    return path(name, *parts).read_text(encoding="utf-8")
