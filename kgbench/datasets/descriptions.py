# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the data sets that can be installed, declared in ``ontology/``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import pyoxigraph as ox

from kgbench import resources
from kgbench.datasets import installers
from kgbench.errors import ResourceError
from kgbench.rdf.declared import Declared
from kgbench.vocab import DCAT, DCTERMS, SCHEMA, SPDX

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
    return sorted([_TEXT2KGBENCH, _BEASTIARY, *installers.names()])


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
    listed = _CHECKSUMS if name == _TEXT2KGBENCH else installers.installer(name).checksums
    text = resources.text("tasks", *listed)
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != expected:
        raise ResourceError(
            f"the list of files of {name} is not the declared one: reinstall kgbench"
        )
    pairs = (line.split("  ", 1) for line in text.splitlines())
    return {path: checksum for checksum, path in pairs}
