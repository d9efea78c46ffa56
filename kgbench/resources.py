# SPDX-License-Identifier: Apache-2.0
"""Locations of declared resources: ontology, shapes, tasks, queries and the store layout.

In a checkout they are its top-level folders; an installed wheel has copies of the same folders
beside the code. The current folder has no influence. A plug-in may have folders of the same names
beside its modules; their files are found as if they were in those of kgbench.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from kgbench import entry_points
from kgbench.errors import ResourceError

FOLDERS = ("ontology", "shapes", "tasks", "queries", "store")

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


def folders(name: str) -> Iterator[Path]:
    """Yield :func:`folder`, if ``name`` is in :data:`FOLDERS`, and the folders of plug-ins.

    Packages of others have none called ``tasks``: their task classes name their folders.
    """
    if name in FOLDERS:
        yield folder(name)
    yield from sorted((_PACKAGE / "plugins").glob(f"*/{name}"))
    if name != "tasks":
        for package in sorted({module.split(".")[0] for module in entry_points.modules()}):
            spec = None if package == "kgbench" else find_spec(package)
            for location in (spec and spec.submodule_search_locations) or ():
                if Path(location, name).is_dir():
                    yield Path(location, name)


def path(name: str, *parts: str) -> Path:
    """Return the path of a declared file, for example ``path("shapes", "results.ttl")``.

    Raises :class:`~kgbench.errors.ResourceError` if no folder called ``name`` has it.
    """
    for location in folders(name):
        if location.joinpath(*parts).exists():
            return location.joinpath(*parts)
    raise ResourceError(
        f"the declared resource {name}/{'/'.join(parts)} is missing: reinstall kgbench, or run "
        f"from a complete checkout"
    )


def files(name: str, pattern: str) -> list[Path]:
    """Return the declared files that match ``pattern``, in the order of their paths in the folder.

    Raises :class:`~kgbench.errors.ResourceError` if two of them have the same path.
    """
    found: dict[Path, Path] = {}
    for location in folders(name):
        for file in location.glob(pattern):
            other = found.setdefault(file.relative_to(location), file)
            if other != file:
                raise ResourceError(f"{other} and {file} have the same name: rename one")
    return [found[within] for within in sorted(found)]


def text(name: str, *parts: str) -> str:
    """Return the text of a declared file (UTF-8)."""
    return path(name, *parts).read_text(encoding="utf-8")
