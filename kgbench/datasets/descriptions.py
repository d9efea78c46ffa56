# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the data sets that can be installed, declared in ``ontology/datasets.ttl``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyoxigraph as ox

from kgbench import resources
from kgbench.datasets import text2sparql
from kgbench.errors import ResourceError
from kgbench.rdf.declared import shipped
from kgbench.vocab import DCAT, DCTERMS, SCHEMA, SPDX

_MANIFESTS = {
    "text2kgbench": ("Text2KG", "files.sha256"),
    "rdf-tests": ("W3cRdf12", "files.sha256"),
    "blinkg": ("BlinkgMappings", "files.sha256"),
    **{name: ("Text2SparqlQuestions", f"{name}.sha256") for name in text2sparql.NAMES},
}
_FILES = ("beastiary",)  # data sets of one file


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
    return sorted([*_MANIFESTS, *_FILES])


def describe(name: str) -> Description:
    """Return the description of the data set called ``name``.

    Raises :class:`~kgbench.errors.ResourceError` for an unknown name, and if the list of files does
    not match its declared checksum.
    """
    if name not in names():
        raise ResourceError(f"there is no data set '{name}'; there are: {', '.join(names())}")
    declared = shipped("ontology", "datasets.ttl")
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
        files=_files(name, expected)
        if name in _MANIFESTS
        else {values(ox.NamedNode(distribution), DCTERMS["title"])[0]: expected},
    )


def _files(name: str, expected: str) -> dict[str, str]:
    text = resources.text("tasks", *_MANIFESTS[name])
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != expected:
        raise ResourceError(
            f"the list of files of {name} is not the declared one: reinstall kgbench"
        )
    pairs = (line.split("  ", 1) for line in text.splitlines())
    return {path: checksum for checksum, path in pairs}
