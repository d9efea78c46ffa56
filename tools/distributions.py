# SPDX-License-Identifier: Apache-2.0
"""The installed distributions that kgbench depends on, with their licences."""

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
    """An installed distribution; ``licence`` is an SPDX expression, ``None`` if unknown.

    ``needs`` has the normalised names of the installed distributions that it requires here.
    """

    name: str
    version: str
    licence: str | None
    needs: tuple[str, ...]


def brought_along(extras: Collection[str] = ()) -> dict[str, Distribution]:
    """All installed requirements of kgbench with ``extras``, itself first, by normalised name.

    Requirements that are not installed (of an extra that is not requested, say) are left out.
    Raises :class:`importlib.metadata.PackageNotFoundError` if kgbench itself is not installed.
    """
    metadata.distribution(_SELF)
    wanted_extras: dict[str, set[str]] = {}
    todo = [(_SELF, frozenset(extras))]
    while todo:
        key, wanted = todo.pop()
        known = wanted_extras.get(key)
        if known is not None and wanted <= known:
            continue
        wanted_extras.setdefault(key, set()).update(wanted)
        todo.extend(
            (str(canonicalize_name(requirement.name)), frozenset(requirement.extras))
            for requirement in _requirements(key, wanted_extras[key])
        )
    keys = sorted(wanted_extras, key=lambda name: (name != _SELF, name))
    packages = {key: _installed(key) for key in keys}
    return {
        key: _described(key, package, wanted_extras[key], packages)
        for key, package in packages.items()
        if package is not None
    }


def _requirements(name: str, extras: Collection[str]) -> list[Requirement]:
    package = _installed(name)
    if package is None:
        return []
    requirements = [Requirement(text) for text in package.requires or ()]
    return [requirement for requirement in requirements if _applies(requirement, extras)]


def _applies(requirement: Requirement, extras: Collection[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _described(
    key: str,
    package: metadata.Distribution,
    extras: Collection[str],
    packages: Mapping[str, metadata.Distribution | None],
) -> Distribution:
    names = {str(canonicalize_name(requirement.name)) for requirement in _requirements(key, extras)}
    needs = tuple(sorted(name for name in names - {key} if packages.get(name) is not None))
    licence = licences.of(package.metadata)
    return Distribution(package.metadata["Name"], package.version, licence, needs)
