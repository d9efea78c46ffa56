# SPDX-License-Identifier: Apache-2.0
"""Data sets that plug-ins install, by entry points of the group ``kgbench.datasets``.

The name of an entry point is that of the data set, and what it names is an :class:`Installer`. A
file ``...datasets.ttl`` in a folder ``ontology`` describes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgbench import entry_points
from kgbench.model import Json

if TYPE_CHECKING:
    from kgbench.datasets.descriptions import Description
    from kgbench.datasets.install import InstallationResult
    from kgbench.net.limits import Budget

_GROUP = "kgbench.datasets"


@dataclass(frozen=True, slots=True)
class Installer:
    """How a data set is installed, and what it has.

    ``checksums`` are the folder below ``tasks`` and the name of the list of its files. ``install``
    takes its description, the path or URL of a copy (``None`` if there is none), a limit of what is
    downloaded, and whether to accept files with other checksums, which needs ``may_differ``.
    ``questions`` returns the data of cases about its graph (``graph.nt`` in its folder) in a
    language; it is ``None`` for a data set without a graph.
    """

    checksums: tuple[str, str]
    install: Callable[[Description, str | None, Budget | None, bool], InstallationResult]
    questions: Callable[[str], list[dict[str, Json]]] | None = None
    may_differ: bool = False


def names() -> tuple[str, ...]:
    """Return the names of the data sets of plug-ins, sorted."""
    return entry_points.names(_GROUP)


def installer(name: str) -> Installer:
    """Return the installer of the data set ``name`` of a plug-in."""
    found: Installer = entry_points.load(_GROUP, name)
    return found


def with_graph() -> list[str]:
    """Return the names of the data sets that have a graph, sorted."""
    return [name for name in names() if installer(name).questions is not None]
