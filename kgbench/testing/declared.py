# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a ``task.ttl``: its syntax, its terms, the levels it names, its shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from kgbench import shapes
from kgbench.errors import ResourceError
from kgbench.nearest import nearest
from kgbench.rdf.declared import quads, shipped
from kgbench.shapes import Violation
from kgbench.tasks import declaration
from kgbench.vocab import KGB, RDF, RDFS, SKOS, compact

_LONGEST = 300  # characters of a validator's message
_PREFIX = re.compile(
    rf"^\s*@?prefix\s+([\w-]*):\s*<{re.escape(KGB)}>", re.IGNORECASE | re.MULTILINE
)


class Fault(NamedTuple):
    """What is wrong, and in which line (from 1) of the declaration; ``None`` where that is open."""

    message: str
    line: int | None = None


class Declared(NamedTuple):
    """The faults of a declaration, by what is looked at."""

    syntax: Sequence[Fault]
    terms: Sequence[Fault] = ()
    levels: Sequence[Fault] = ()
    shape: Sequence[Fault] = ()


def declared(path: Path) -> Declared:
    """Everything that is wrong with the declaration of a task class at ``path``."""
    try:
        text = path.read_text(encoding="utf-8")
        triples = [quad.triple for quad in quads(text.encode())]
    except SyntaxError as error:
        return Declared([Fault(f"it cannot be read as Turtle: {error.msg}", error.lineno)])
    except (OSError, UnicodeDecodeError) as error:
        return Declared([Fault(f"it cannot be read: {error}")])
    unknown = {iri for triple in triples for iri in _own_terms(triple)} - terms()
    levels, shape = [], []
    for violation in shapes.validate(shapes.rdflib_graph(triples), "tasks"):
        if violation.path in {compact(iri) for iri in unknown}:
            continue  # the term is a fault of its own
        allowed = _levels().get(violation.path or "")
        if violation.component == "sh:InConstraintComponent" and allowed:
            levels.append(_no_level(violation, allowed, text))
        else:
            shape.append(Fault(f"{_node(violation.focus, triples)}: {_said(violation)}"))
    if not (unknown or levels or shape):
        try:
            declaration.read(path)
        except ResourceError as error:
            shape.append(Fault(str(error.__cause__ or error)))
    return Declared([], [_misspelt(iri, text) for iri in sorted(unknown)], levels, shape)


@cache
def terms() -> frozenset[str]:
    """The IRIs of all terms that the vocabulary declares."""
    vocabulary = shipped("ontology", "kgbench.ttl")
    return frozenset(node.value for node in vocabulary.subjects(RDFS.isDefinedBy))


@cache
def _levels() -> Mapping[str, tuple[str, ...]]:
    """The values that the shapes allow for each of our properties, where they list them."""
    import rdflib
    from rdflib import SH
    from rdflib.collection import Collection

    declared_shapes = shapes.shapes_for(rdflib.Graph(), "tasks")
    return {
        compact(str(path)): tuple(map(str, Collection(declared_shapes, values)))
        for node, values in declared_shapes.subject_objects(SH["in"])
        for path in declared_shapes.objects(node, SH.path)
        if str(path).startswith(KGB)
    }


def _own_terms(triple: ox.Triple) -> Iterator[str]:
    for node in (triple.subject, triple.predicate, triple.object):
        if isinstance(node, ox.NamedNode) and node.value.startswith(KGB):
            yield node.value


def _misspelt(iri: str, text: str) -> Fault:
    written = compact(iri)
    hint = nearest(written, map(compact, terms()))
    declared_as = _PREFIX.search(text)
    local = iri.removeprefix(KGB)
    shown = f"{declared_as[1]}:{local}" if declared_as else iri
    return Fault(f"the vocabulary has no term {written}: {hint}", _line(text, shown))


def _no_level(violation: Violation, allowed: Sequence[str], text: str) -> Fault:
    value = violation.value or ""
    hint = nearest(value.strip('"'), allowed)
    return Fault(f"{violation.path} cannot be {value}: {hint}", _line(text, value.strip('"')))


def _line(text: str, shown: str) -> int | None:
    """The first line in which a term stands as a whole."""
    found = re.search(rf"(?<![\w-]){re.escape(shown)}(?![\w-])", text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def _node(focus: str, triples: Sequence[ox.Triple]) -> str:
    """A node as its author knows it: its class and its name, else its IRI."""
    about = [triple for triple in triples if getattr(triple.subject, "value", None) == focus]
    kinds = sorted(
        compact(triple.object.value)
        for triple in about
        if triple.predicate.value == RDF.type and isinstance(triple.object, ox.NamedNode)
    )
    kind = next((each for each in kinds if each.startswith("kgb:")), "")
    names = [
        triple.object.value
        for triple in about
        if triple.predicate.value in {SKOS.notation, KGB.parameterName}
        and isinstance(triple.object, ox.Literal)
    ]
    return " ".join([kind, *names[:1]]) if kind and (names or "://" not in focus) else focus


def _said(violation: Violation) -> str:
    """What the validator says, where that is no dump of shapes."""
    if violation.component == "sh:XoneConstraintComponent":
        return "it fits none, or more than one, of the alternatives that shapes/tasks.ttl allows"
    if violation.component == "sh:ClosedConstraintComponent":
        return f"it cannot have the property {violation.path}"
    if violation.component == "sh:MinCountConstraintComponent":
        return f"{violation.path} is missing"
    found = "" if violation.value is None else f" (found: {violation.value})"
    about = f"{violation.path}: " if violation.path else ""
    return f"{about}{violation.message[:_LONGEST]}{found}"
