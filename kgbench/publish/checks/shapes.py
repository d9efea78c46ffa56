# SPDX-License-Identifier: Apache-2.0
"""Validation of published graphs and catalogues: SHACL shapes, and constraints in SPARQL.

The constraints are declared in ``shapes/constraints/``: each query there finds the violations in
the whole data at once, which takes a fraction of the time of a query for each node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.rdf import digest, original_text, storable
from kgbench.rdf.declared import shipped
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
from kgbench.validation.components import term_text
from kgbench.vocab import BASE, DCTERMS, KGB, PROV, RDFS, SH, SKOS

FOLDER = ("shapes", "constraints")
_VALUE, _ORIGINAL = ox.NamedNode(PROV.value), ox.NamedNode(KGB.originalBytes)
_TEXT = re.compile(r"/text/([0-9a-f]{64})\Z")  # others are veiled: their texts were left out
_FileOf = Callable[[Any], str]
_REMEDIES = {
    "MinCount": "Add what is missing.",
    "MaxCount": "Keep only the right value.",
    "Closed": "Remove it, or correct its name.",
    "Class": "Publish the target of the reference as well, or correct the reference.",
    "Datatype": "Correct the value or its datatype.",
    "LessThanOrEquals": "Correct the order.",
    "HasValue": "Add the value that is missing.",
}
_OTHERWISE = "Correct the value as the shape requires."


# --- shapes -------------------------------------------------------------------------------------


def results(data: Data, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of the shapes of results."""
    yield from _faults(complaints(data, result_shapes(data)), file_of)


def catalogue(quads: Iterable[ox.Quad], file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of our shapes of a published catalogue."""
    shapes = compiled(declared_shapes(SHAPE_FILES["published"]))
    yield from _faults(complaints(Data(IndexedQuads(quads)), shapes), file_of)


def companions(published: PublicationFiles) -> Iterator[Fault]:
    """Yield violations of our shapes of claims, keys and signatures."""

    def file_of(node: Any) -> str:
        name = published.path_of(getattr(node, "value", ""))
        return name if name in published.files else ""

    # Claims are stated in several files.
    stated = dict.fromkeys(ox.Quad(s, p, o) for s, p, o, _ in published.companions)
    shapes = compiled(declared_shapes(SHAPE_FILES["companions"]))
    yield from _faults(complaints(Data(IndexedQuads(stated)), shapes), file_of)


def official(quads: Iterable[ox.Quad], shapes: Path, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of the shapes in a file, such as the official ones of MLDCAT-AP.

    Raises :class:`~kgbench.errors.ResourceError` if the file has no usable shapes.
    """
    try:
        stated = IndexedQuads(ox.parse(path=str(shapes), base_iri=shapes.absolute().as_uri()))
    except (OSError, SyntaxError, ValueError) as error:
        raise ResourceError(f"the shapes in {shapes} cannot be read: {error}") from error
    try:
        found = complaints(Data(IndexedQuads(quads)), compiled(stated))
        yield from _faults(found, file_of, shapes.name)
    except IllFormedShapes as error:
        raise ResourceError(f"{shapes}: {error}") from error


def _faults(
    found: Iterable[Complaint], file_of: _FileOf, shapes: str | None = None
) -> Iterator[Fault]:
    """Yield complaints as faults; ``shapes`` names the file of their shapes in place of these."""
    for complaint in found:
        path = "" if complaint.path is None else f"{complaint.path} "
        value = "" if complaint.value is None else f" (found: {complaint.value})"
        yield Fault(
            f"{shapes or complaint.shape} {complaint.component}",
            getattr(complaint.focus, "value", str(complaint.focus)),
            file_of(complaint.focus),
            f"{path}{complaint.message.rstrip('.')}{value}.",
            _REMEDIES.get(complaint.component, _OTHERWISE),
            complaint.severity != "Violation",
        )


# --- constraints --------------------------------------------------------------------------------


class Constraint(NamedTuple):
    """A declared constraint; ``?found`` in its message stands for a value of the query."""

    name: str
    label: str
    message: str
    remedy: str

    @property
    def text(self) -> str:
        """The text of its query."""
        return resources.text(*FOLDER, f"{self.name}.rq")


@cache
def group(name: str) -> dict[str, Constraint]:
    """Return the constraints of one group by name, in order.

    Raises :class:`~kgbench.errors.ResourceError` if one lacks a property.
    """
    declared = shipped(*FOLDER, f"{name}.ttl")
    properties = (SKOS.notation, RDFS.label, SH.message, RDFS.comment)
    members = declared.subjects(DCTERMS.isPartOf, ox.NamedNode(f"{BASE}constraint/{name}"))
    found = (Constraint(*(declared.required(node, p) for p in properties)) for node in members)
    return {each.name: each for each in sorted(found)}


def constrained(group_name: str, store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of all constraints of a group, over the union of all graphs of ``store``."""
    for constraint in group(group_name).values():
        rows: Any = store.query(constraint.text, use_default_graph_as_union=True)
        names = [variable.value for variable in rows.variables]
        for row in rows:
            node, value = row["node"], row["found"] if "found" in names else None
            words = value.value if isinstance(value, ox.Literal) else value and term_text(value)
            yield Fault(
                constraint.name,
                getattr(node, "value", ""),
                file_of(node) or file_of(value),
                constraint.message.replace("?found", words or ""),
                constraint.remedy,
            )


def texts(quads: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield texts whose digest is not that in their IRI, or that differ from their original bytes.

    Prompts and answers name their texts by the digest, so that a changed text would be believed.
    """
    pattern: Any = quads.quads_for_pattern
    for quad in pattern(None, _VALUE, None):
        match = _TEXT.search(getattr(quad.subject, "value", ""))
        if match is None:
            continue
        value = getattr(quad.object, "value", "")
        originals = [getattr(q.object, "value", "") for q in pattern(quad.subject, _ORIGINAL, None)]
        try:
            text = original_text(value, next(iter(originals), None))
        except ValueError:  # not base64, or not UTF-8
            text = ""
        if digest(text) != match[1] or storable(text).value != value:
            yield Fault(
                "digest-of-text",
                quad.subject.value,
                file_of(quad.subject),
                f"The text is not the one that the IRI names: its SHA-256 is {digest(text)}.",
                "Publish again: the text was changed, or its kgb:originalBytes.",
            )
