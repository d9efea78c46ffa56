# SPDX-License-Identifier: Apache-2.0
"""Validation of the published graphs, and of the catalogue, with SHACL shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import ResourceError
from kgbench.publish import file_reading
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.claims import PLACE as CLAIMS
from kgbench.publish.signing import KEYS, SIGNATURE, SIGNED
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import (
    SHAPE_FILES,
    Complaint,
    Data,
    IllFormedShapes,
    compiled,
    complaints,
    declared_shapes,
    result_shapes,
)

_COMPANIONS = (f"{CLAIMS}.ttl", KEYS, SIGNATURE)
_FileOf = Callable[[Any], str]
_REMEDIES = {
    "MinCount": "Add what is missing.",
    "MaxCount": "Keep only the right value.",
    "Closed": "Remove it, or correct its name.",
    "Class": "Publish the target of the reference as well, or correct the reference.",
    "Pattern": "Correct the value.",
    "Datatype": "Correct the value or its datatype.",
    "MinInclusive": "Correct the value, or the range that is declared.",
    "MaxInclusive": "Correct the value, or the range that is declared.",
    "LessThanOrEquals": "Correct the order.",
    "HasValue": "Add the value that is missing.",
}
_OTHERWISE = "Correct it as the shape requires."


def results(data: Data, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of the shapes of results."""
    for complaint in complaints(data, result_shapes(data)):
        yield _fault(complaint, file_of(complaint.focus))


def catalogue(quads: Iterable[ox.Quad], file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of our shapes of a published catalogue."""
    yield from _declared("published", quads, file_of)


def companions(published: PublicationFiles) -> Iterator[Fault]:
    """Yield violations of our shapes of claims, keys and signatures."""

    def file_of(node: Any) -> str:
        return published.name_at(getattr(node, "value", "")) or ""

    stated: dict[ox.Quad, None] = {}
    for name, path in published.files.items():
        if name in _COMPANIONS or name.startswith((f"{CLAIMS}/", f"{SIGNED}/")):
            try:
                for quad in file_reading.quads(path):
                    stated[ox.Quad(quad.subject, quad.predicate, quad.object)] = None
            except file_reading.Unreadable as error:
                yield Fault("readable", "", name, f"The file {error}.", "Publish again.")
    yield from _declared("companions", stated, file_of)


def _declared(shape_set: str, quads: Iterable[ox.Quad], file_of: _FileOf) -> Iterator[Fault]:
    shapes = compiled(declared_shapes(SHAPE_FILES[shape_set]))
    for complaint in complaints(Data(IndexedQuads(quads)), shapes):
        yield _fault(complaint, file_of(complaint.focus))


def official(quads: Iterable[ox.Quad], shapes: Path, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of the shapes in a file, such as the official ones of MLDCAT-AP.

    Raises :class:`~kgbench.errors.ResourceError` if the file has no usable shapes.
    """
    try:
        stated = IndexedQuads(ox.parse(path=str(shapes), base_iri=shapes.absolute().as_uri()))
    except (OSError, SyntaxError, ValueError) as error:
        raise ResourceError(f"the shapes in {shapes} cannot be read: {error}") from error
    try:
        for complaint in complaints(Data(IndexedQuads(quads)), compiled(stated)):
            fault = _fault(complaint, file_of(complaint.focus))
            yield fault._replace(constraint=f"{shapes.name} {complaint.component}")
    except IllFormedShapes as error:
        raise ResourceError(f"{shapes}: {error}") from error


def _fault(complaint: Complaint, file: str) -> Fault:
    path = "" if complaint.path is None else f"{complaint.path} "
    value = "" if complaint.value is None else f" (found: {complaint.value})"
    message = complaint.message.rstrip(".")
    return Fault(
        f"{complaint.shape} {complaint.component}",
        getattr(complaint.focus, "value", str(complaint.focus)),
        file,
        f"{path}{message}{value}.",
        _REMEDIES.get(complaint.component, _OTHERWISE),
        complaint.severity != "Violation",
    )
