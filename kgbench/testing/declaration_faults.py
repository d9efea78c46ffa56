# SPDX-License-Identifier: Apache-2.0
"""Faults of a ``task.ttl``: its syntax, unknown terms, values that are not allowed, its shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.errors import ResourceError, nearest
from kgbench.rdf.declared import quads, shipped
from kgbench.rdf.quads import IndexedQuads
from kgbench.tasks import declaration
from kgbench.validation import (
    SHAPE_FILES,
    Complaint,
    Data,
    Shape,
    compiled,
    complaints,
    declared_shapes,
)
from kgbench.validation.data import list_members
from kgbench.vocab import KGB, RDF, RDFS, SH, SKOS, compact

_IN, _PATH = ox.NamedNode(SH["in"]), ox.NamedNode(SH.path)
_PREFIX = re.compile(
    rf"^\s*@?prefix\s+([\w-]*):\s*<{re.escape(KGB)}>", re.IGNORECASE | re.MULTILINE
)


class Fault(NamedTuple):
    """A fault, with the line (from 1) of the declaration; ``None`` if the line is unknown."""

    message: str
    line: int | None = None


class DeclarationFaults(NamedTuple):
    """The faults of a declaration, by kind."""

    syntax: Sequence[Fault]
    terms: Sequence[Fault] = ()
    levels: Sequence[Fault] = ()
    shape: Sequence[Fault] = ()


def check_declaration(path: Path) -> DeclarationFaults:
    """Find all faults of the declaration of a task class at ``path``."""
    try:
        text = path.read_text(encoding="utf-8")
        triples = [quad.triple for quad in quads(text.encode())]
    except SyntaxError as error:
        return DeclarationFaults([Fault(f"it cannot be read: {error.msg}", error.lineno)])
    except (OSError, UnicodeDecodeError) as error:
        return DeclarationFaults([Fault(f"it cannot be read: {error}")])
    unknown = {iri for triple in triples for iri in _own_terms(triple)} - terms()
    levels, shape = [], []
    for complaint in complaints(Data(IndexedQuads(triples)), _shapes()):
        if complaint.path in {compact(iri) for iri in unknown}:
            continue  # reported as an unknown term
        allowed = _allowed_values().get(complaint.path or "")
        if complaint.component == "In" and allowed:
            levels.append(_disallowed_value(complaint, allowed, text))
        else:
            name = _node_name(str(getattr(complaint.focus, "value", complaint.focus)), triples)
            shape.append(Fault(f"{name}: {_message(complaint)}"))
    if not (unknown or levels or shape):
        try:
            declaration.read(path)
        except ResourceError as error:
            shape.append(Fault(str(error.__cause__ or error)))
    return DeclarationFaults(
        [], [_unknown_term(iri, text) for iri in sorted(unknown)], levels, shape
    )


@cache
def terms() -> frozenset[str]:
    """Return the IRIs of all terms that the vocabulary declares."""
    vocabulary = shipped("ontology", "kgbench.ttl")
    return frozenset(node.value for node in vocabulary.subjects(RDFS.isDefinedBy))


@cache
def _allowed_values() -> Mapping[str, tuple[str, ...]]:
    """Return the allowed values of each kgbench property for which the shapes list them."""
    graph = Data(declared_shapes(SHAPE_FILES["tasks"]))
    return {
        compact(path.value): tuple(member.value for member in list_members(graph, values))
        for node in graph.subjects(_IN)
        for values in graph.values(node, _IN)
        for path in graph.values(node, _PATH)
        if isinstance(path, ox.NamedNode) and path.value.startswith(KGB)
    }


@cache
def _shapes() -> list[Shape]:
    return compiled(declared_shapes(SHAPE_FILES["tasks"]))


def _own_terms(triple: ox.Triple) -> Iterator[str]:
    for node in (triple.subject, triple.predicate, triple.object):
        if isinstance(node, ox.NamedNode) and node.value.startswith(KGB):
            yield node.value


def _unknown_term(iri: str, text: str) -> Fault:
    term = compact(iri)
    hint = nearest(term, map(compact, terms()))
    prefix = _PREFIX.search(text)
    local = iri.removeprefix(KGB)
    shown = f"{prefix[1]}:{local}" if prefix else iri
    return Fault(f"the vocabulary has no term {term}: {hint}", _line_of(text, shown))


def _disallowed_value(complaint: Complaint, allowed: Sequence[str], text: str) -> Fault:
    value = complaint.value or ""
    hint = nearest(value.strip('"'), allowed)
    return Fault(f"{complaint.path} cannot be {value}: {hint}", _line_of(text, value.strip('"')))


def _line_of(text: str, term: str) -> int | None:
    """Return the first line that contains a term as a whole word."""
    match = re.search(rf"(?<![\w-]){re.escape(term)}(?![\w-])", text)
    return None if match is None else text.count("\n", 0, match.start()) + 1


def _node_name(focus: str, triples: Sequence[ox.Triple]) -> str:
    """Return a node's class and name; its IRI if it has no name."""
    triples_of_node = [
        triple for triple in triples if getattr(triple.subject, "value", None) == focus
    ]
    kinds = sorted(
        compact(triple.object.value)
        for triple in triples_of_node
        if triple.predicate.value == RDF.type and isinstance(triple.object, ox.NamedNode)
    )
    kind = next((name for name in kinds if name.startswith("kgb:")), "")
    names = [
        triple.object.value
        for triple in triples_of_node
        if triple.predicate.value in {SKOS.notation, KGB.parameterName}
        and isinstance(triple.object, ox.Literal)
    ]
    return " ".join([kind, *names[:1]]) if kind and (names or "://" not in focus) else focus


def _message(complaint: Complaint) -> str:
    """Return a message for a violation."""
    if complaint.component == "Xone":
        return "it fits none, or more than one, of the alternatives that shapes/tasks.ttl allows"
    if complaint.component == "Closed":
        return f"it cannot have the property {complaint.path}"
    if complaint.component == "MinCount":
        return f"{complaint.path} is missing"
    value = "" if complaint.value is None else f" (found: {complaint.value})"
    path = f"{complaint.path}: " if complaint.path else ""
    return f"{path}{complaint.message}{value}"
