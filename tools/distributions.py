# SPDX-License-Identifier: Apache-2.0
"""The installed distributions that kgbench brings along, with their licences."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import licences

_SELF = "kgbench"


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution; ``licence`` is an SPDX expression, ``None`` where it says none.

    ``needs`` are the normalised names of the installed distributions that it asks for here.
    """

    name: str
    version: str
    licence: str | None
    needs: tuple[str, ...]


def brought_along(extras: Collection[str] = ()) -> dict[str, Distribution]:
    """Everything installed that kgbench with ``extras`` needs, itself first, by normalised name.

    What is needed but not installed (an extra that nobody asked for, say) is left out. Raises
    :class:`importlib.metadata.PackageNotFoundError` where kgbench itself is not installed.
    """
    metadata.distribution(_SELF)
    asked: dict[str, set[str]] = {}
    todo = [(_SELF, frozenset(extras))]
    while todo:
        key, wanted = todo.pop()
        known = asked.get(key)
        if known is not None and wanted <= known:
            continue
        asked.setdefault(key, set()).update(wanted)
        todo.extend(
            (str(canonicalize_name(needed.name)), frozenset(needed.extras))
            for needed in _needed(key, asked[key])
        )
    there = {key: _found(key) for key in sorted(asked, key=lambda each: (each != _SELF, each))}
    return {
        key: _described(key, found, asked[key], there)
        for key, found in there.items()
        if found is not None
    }


def _needed(name: str, extras: Collection[str]) -> list[Requirement]:
    found = _found(name)
    if found is None:
        return []
    all_of_them = [Requirement(text) for text in found.requires or ()]
    return [one for one in all_of_them if _applies(one, extras)]


def _applies(needed: Requirement, extras: Collection[str]) -> bool:
    marker = needed.marker
    return marker is None or any(marker.evaluate({"extra": one}) for one in ("", *extras))


def _found(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _described(
    key: str,
    found: metadata.Distribution,
    extras: Collection[str],
    there: Mapping[str, metadata.Distribution | None],
) -> Distribution:
    names = {str(canonicalize_name(one.name)) for one in _needed(key, extras)}
    needs = tuple(sorted(one for one in names - {key} if there.get(one) is not None))
    return Distribution(found.metadata["Name"], found.version, licences.of(found.metadata), needs)
