# SPDX-License-Identifier: Apache-2.0
"""The published graphs against the shapes of results, and the catalogue against its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import ResourceError
from kgbench.publish.changes import PLACE as CHANGES
from kgbench.publish.checks import reading
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Fault
from kgbench.publish.claims import PLACE as CLAIMS
from kgbench.publish.signing import KEYS, SIGNATURE, SIGNED
from kgbench.shapes import SHAPE_FILES
from kgbench.validation import Data, Memory, compiled, complaints, declared_shapes, result_shapes
from kgbench.validation.checking import Complaint

_COMPANIONS = (f"{CLAIMS}.ttl", f"{CHANGES}.ttl", KEYS, SIGNATURE)
_FileOf = Callable[[Any], str]
_REMEDIES = {
    "MinCount": "Add what is missing.",
    "MaxCount": "Keep the value that is true.",
    "Closed": "Remove it, or correct its name.",
    "Class": "Publish what it refers to as well, or correct the reference.",
    "Pattern": "Correct the value.",
    "Datatype": "Correct the value or its datatype.",
    "MinInclusive": "Correct the value, or the range that is declared.",
    "MaxInclusive": "Correct the value, or the range that is declared.",
    "LessThanOrEquals": "Correct the order.",
    "HasValue": "Add the value that is missing.",
}
_OTHERWISE = "Correct what the shape says."


def results(data: Data, file_of: _FileOf) -> Iterator[Fault]:
    """What the shapes of results complain about."""
    for complaint in complaints(data, result_shapes(data)):
        yield _fault(complaint, file_of(complaint.focus))


def catalogue(quads: Iterable[ox.Quad], file_of: _FileOf) -> Iterator[Fault]:
    """What our shapes of a published catalogue complain about."""
    yield from _declared("published", quads, file_of)


def companions(published: Published) -> Iterator[Fault]:
    """What our shapes of claims, change feeds, keys and signatures complain about."""

    def file_of(node: Any) -> str:
        path = published.path(getattr(node, "value", ""))
        return "" if path is None else published.name(path)

    stated: dict[ox.Quad, None] = {}
    for name, path in published.files.items():
        if name in _COMPANIONS or name.startswith((f"{CLAIMS}/", f"{SIGNED}/")):
            try:
                for quad in reading.quads(path):
                    stated[ox.Quad(quad.subject, quad.predicate, quad.object)] = None
            except reading.Unreadable as error:
                yield Fault("readable", "", name, f"The file {error}.", "Publish again.")
    yield from _declared("companions", stated, file_of)


def _declared(which: str, quads: Iterable[ox.Quad], file_of: _FileOf) -> Iterator[Fault]:
    shapes = compiled(declared_shapes(SHAPE_FILES[which]))
    for complaint in complaints(Data(Memory(quads)), shapes):
        yield _fault(complaint, file_of(complaint.focus))


def official(quads: Iterable[ox.Quad], shapes: Path, file_of: _FileOf) -> Iterator[Fault]:
    """What shapes in a file, such as the official ones of MLDCAT-AP, complain about.

    Raises :class:`~kgbench.errors.ResourceError` where the file holds no shapes that can be used.
    """
    import pyshacl
    import rdflib
    from rdflib import SH

    from kgbench.shapes import rdflib_graph
    from kgbench.vocab import compact

    graph = rdflib.Graph()
    # What parsers, patterns and queries in shapes raise has no base in common.
    try:
        graph.parse(shapes)
    except Exception as error:
        raise ResourceError(f"the shapes in {shapes} cannot be read: {error}") from error
    stated = rdflib_graph(quads)
    try:
        _, found, text = pyshacl.validate(stated, shacl_graph=graph)
    except Exception as error:
        raise ResourceError(f"the shapes in {shapes} cannot be used: {error}") from error
    if not isinstance(found, rdflib.Graph):
        raise ResourceError(f"the shapes in {shapes} cannot be used: {text}")
    for result in found.subjects(rdflib.RDF.type, SH.ValidationResult):
        focus = found.value(result, SH.focusNode)
        path = found.value(result, SH.resultPath)
        message = found.value(result, SH.resultMessage)
        component = str(found.value(result, SH.sourceConstraintComponent)).rpartition("#")[2]
        yield Fault(
            f"{shapes.name} {component.removesuffix('ConstraintComponent')}",
            str(focus),
            file_of(ox.NamedNode(str(focus))) if isinstance(focus, rdflib.URIRef) else "",
            f"{'' if path is None else compact(str(path)) + ': '}{message}",
            _OTHERWISE,
            found.value(result, SH.resultSeverity) != SH.Violation,
        )


def _fault(complaint: Complaint, file: str) -> Fault:
    place = "" if complaint.path is None else f"{complaint.path} "
    found = "" if complaint.value is None else f" (found: {complaint.value})"
    said = complaint.message.rstrip(".")
    return Fault(
        f"{complaint.shape} {complaint.component}",
        getattr(complaint.focus, "value", str(complaint.focus)),
        file,
        f"{place}{said}{found}.",
        _REMEDIES.get(complaint.component, _OTHERWISE),
        complaint.severity != "Violation",
    )
