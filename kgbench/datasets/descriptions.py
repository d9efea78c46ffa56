# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the data sets that can be installed, and their installers in plug-ins.

The name of an entry point is that of the data set, and what it names is an :class:`Installer`. A
file ``...datasets.ttl`` in a folder ``ontology`` describes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgbench import entry_points, resources
from kgbench.errors import ResourceError
from kgbench.model import Json
from kgbench.rdf.declared import Declared
from kgbench.vocab import DCAT, DCTERMS, SCHEMA, SPDX

if TYPE_CHECKING:
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


def names_of_plug_ins() -> tuple[str, ...]:
    """Return the names of the data sets of plug-ins, sorted."""
    return entry_points.names(_GROUP)


def installer(name: str) -> Installer:
    """Return the installer of the data set ``name`` of a plug-in."""
    found: Installer = entry_points.load(_GROUP, name)
    return found


def with_graph() -> list[str]:
    """Return the names of the data sets that have a graph, sorted."""
    return [name for name in names_of_plug_ins() if installer(name).questions is not None]


_TEXT2KGBENCH = "text2kgbench"
_CHECKSUMS = ("Text2KG", "files.sha256")  # of its files
_BEASTIARY = "beastiary"  # has one file


@dataclass(frozen=True, slots=True)
class Description:
    """A data set with its source, files and licences.

    ``files`` maps paths below ``url`` to SHA-256 checksums (hex); ``url`` is empty if only a copy
    can be installed. ``licences`` and ``rights`` (remarks on licences) include those of its parts.
    """

    name: str
    title: str
    description: str
    version: str
    url: str
    page: str
    licences: tuple[str, ...]
    rights: tuple[str, ...]
    files: dict[str, str]


def names() -> list[str]:
    """Return the names of all data sets that can be installed."""
    return sorted([_TEXT2KGBENCH, _BEASTIARY, *names_of_plug_ins()])


def describe(name: str) -> Description:
    """Return the description of the data set called ``name``.

    Raises :class:`~kgbench.errors.ResourceError` for an unknown name, and if the list of files does
    not match its declared checksum.
    """
    if name not in names():
        raise ResourceError(f"there is no data set '{name}'; there are: {', '.join(names())}")
    declared = _declared()
    (node,) = declared.subjects(DCTERMS.identifier, ox.Literal(name))
    values = declared.texts
    (distribution,) = values(node, DCAT.distribution)
    (checksum,) = values(ox.NamedNode(distribution), SPDX.checksum)
    (expected,) = values(ox.NamedNode(checksum), SPDX.checksumValue)
    parts = [ox.NamedNode(part) for part in values(node, DCTERMS.hasPart)]
    return Description(
        name=name,
        title=values(node, DCTERMS["title"])[0],
        description=values(node, DCTERMS.description)[0],
        version=values(node, SCHEMA.version)[0],
        url="".join(values(ox.NamedNode(distribution), DCAT.downloadURL)),
        page=values(node, DCAT.landingPage)[0],
        licences=tuple(
            value for resource in (node, *parts) for value in values(resource, DCTERMS.license)
        ),
        rights=tuple(
            value for resource in (node, *parts) for value in values(resource, DCTERMS.rights)
        ),
        files={values(ox.NamedNode(distribution), DCTERMS["title"])[0]: expected}
        if name == _BEASTIARY
        else _files(name, expected),
    )


@cache
def _declared() -> Declared:
    return Declared(*resources.files("ontology", "*datasets.ttl"))


def _files(name: str, expected: str) -> dict[str, str]:
    listed = _CHECKSUMS if name == _TEXT2KGBENCH else installer(name).checksums
    text = resources.text("tasks", *listed)
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != expected:
        raise ResourceError(
            f"the list of files of {name} is not the declared one: reinstall kgbench"
        )
    pairs = (line.split("  ", 1) for line in text.splitlines())
    return {path: checksum for checksum, path in pairs}
