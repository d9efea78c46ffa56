# SPDX-License-Identifier: Apache-2.0
"""What installed packages bring to kgbench: the entry points of the groups ``kgbench.*``.

kgbench's own plug-ins, in ``kgbench/plugins/``, are found in the same way as those of other
packages. An entry point is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from kgbench.errors import ResourceError, nearest


def names(group: str) -> tuple[str, ...]:
    """Return the names of all entry points of a group, such as ``kgbench.commands``, sorted."""
    return tuple(sorted(_points(group)))


def origin(group: str, name: str) -> str:
    """Return the module, or the object in it, that an entry point names; several if they clash."""
    return " and ".join(_points(group)[name])


@cache
def load(group: str, name: str) -> Any:
    """Import the entry point called ``name`` of a group, and return what it names.

    Raises :class:`~kgbench.errors.ResourceError` if there is none, or if several packages bring
    one, and any error of the code that is imported.
    """
    points = _points(group).get(name)
    if points is None:
        raise ResourceError(f"nothing in {group} is called '{name}': {nearest(name, names(group))}")
    if len(points) > 1:
        packages = " and ".join(_package(point) for point in points.values())
        raise ResourceError(f"{packages} both bring '{name}' of {group}: uninstall one")
    (point,) = points.values()
    return point.load()


@cache
def modules() -> frozenset[str]:
    """Return the modules that the entry points of all groups name."""
    groups = [group for group in _all().groups if group.startswith("kgbench.")]
    return frozenset(point.module for group in groups for point in _all().select(group=group))


@cache
def _all() -> Any:
    return entry_points()  # of another type in Python 3.11 than later, with the same methods


@cache
def _points(group: str) -> Mapping[str, Mapping[str, EntryPoint]]:
    """Return the entry points of a group, by their names and by what they name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in _all().select(group=group):
        found.setdefault(point.name, {})[point.value] = point
    return found


def _package(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"{point.dist.name} ({point.value})"


def clear_caches() -> None:
    """Clear the caches, so that installed packages are searched again."""
    for cached in (_all, _points, load, modules):
        cached.cache_clear()
