# SPDX-License-Identifier: Apache-2.0
"""Validation of published graphs and catalogues: SHACL shapes, and constraints in SPARQL.

The constraints are declared in ``shapes/constraints/``: each query there finds the violations in
the whole data at once, which takes a fraction of the time of a query for each node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.publish import file_reading
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.signing import CLAIMS, KEYS, SIGNATURE, SIGNED
from kgbench.rdf import digest, original_text, storable
from kgbench.rdf.declared import Declared, shipped
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
_CONSTRAINTS = f"{BASE}constraint/"
_COMPANIONS = (f"{CLAIMS}.ttl", KEYS, SIGNATURE)
_VALUE, _ORIGINAL = ox.NamedNode(PROV.value), ox.NamedNode(KGB.originalBytes)
_TEXT = re.compile(r"/text/([0-9a-f]{64})\Z")  # others are veiled: their texts were left out
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


# --- shapes -------------------------------------------------------------------------------------


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


# --- constraints --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constraint:
    """A declared constraint; ``?found`` in its message stands for a value of the query."""

    name: str
    label: str
    message: str
    remedy: str

    @property
    def text(self) -> str:
        """The text of its query."""
        return resources.text(*FOLDER, f"{self.name}.rq")

    def faults(self, store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
        """Yield violations of the constraint, over the union of all graphs of ``store``."""
        rows: Any = store.query(self.text, use_default_graph_as_union=True)
        names = [variable.value for variable in rows.variables]
        for row in rows:
            node, value = row["node"], row["found"] if "found" in names else None
            text = "" if value is None else _words(value)
            yield Fault(
                self.name,
                getattr(node, "value", ""),
                file_of(node) or file_of(value),
                self.message.replace("?found", text),
                self.remedy,
            )


def constrained(group_name: str, store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of all constraints of a group."""
    for constraint in group(group_name).values():
        yield from constraint.faults(store, file_of)


@cache
def group(name: str) -> dict[str, Constraint]:
    """Return the constraints of one group by name, in order."""
    declared = shipped(*FOLDER, f"{name}.ttl")
    members = declared.subjects(DCTERMS.isPartOf, ox.NamedNode(_CONSTRAINTS + name))
    constraints = [_constraint(declared, node) for node in members]
    return {each.name: each for each in sorted(constraints, key=lambda each: each.name)}


def _constraint(declared: Declared, node: Any) -> Constraint:
    return Constraint(
        name=declared.required(node, SKOS.notation),
        label=declared.required(node, RDFS.label),
        message=declared.required(node, SH.message),
        remedy=declared.required(node, RDFS.comment),
    )


def _words(term: Any) -> str:
    return term.value if isinstance(term, ox.Literal) else term_text(term)


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
