# SPDX-License-Identifier: Apache-2.0
"""Declarations of users, whose terms must exist in their vocabularies.

RDF ignores unknown terms, so a misspelt property would silently change results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError, nearest
from kgbench.rdf.declared import Declared
from kgbench.vocab import BASE, DQV, KGB, PREFIXES, RDF, SCHEMA, SH, compact

_TYPE = ox.NamedNode(RDF.type)
_SHAPES = ("queries.ttl", "results.ttl")
_PARTS = {  # the shapes of the values of these properties, typed or not
    KGB.axis: "Axis",
    KGB.scoreSelector: "ScoreSelector",
    KGB.formatPair: "FormatPair",
}
_KINDS = {
    KGB.Compass: "Compass",
    KGB.ScoreSet: "ScoreSet",
    KGB.FormatComparison: "FormatComparison",
    KGB.ModelRecord: "ModelRecord",
    KGB.Price: "Price",
    DQV.Dimension: "Axis",
    KGB.ScoreSelector: "ScoreSelector",
}
_WORDS = {
    "Axis": "an axis",
    "Compass": "a compass",
    "FormatComparison": "a format comparison",
    "FormatPair": "a pair of formats",
    "ModelRecord": "a model record",
    "Price": "a price",
    "ScoreSelector": "a score selector",
    "ScoreSet": "a score set",
}
_SAME = 0.93  # similarity from which on a namespace counts as a misspelling of another


def check_terms(graph: ox.Store, file: Path) -> None:
    """Refuse a declaration with terms that their vocabularies do not define.

    Properties and classes of the vocabularies that kgbench reads must exist in them, and the
    properties of a compass, axis, score set, selector, format comparison, model record or price
    must be allowed by its shape. Terms of other vocabularies are not checked. Raises
    :class:`~kgbench.errors.ResourceError` with the nearest name.
    """
    for message in _complaints(graph):
        raise ResourceError(f"{file}: {message}")


def _complaints(graph: ox.Store) -> Iterator[str]:
    used = {quad.predicate.value for quad in graph}
    used |= {
        quad.object.value
        for quad in graph.quads_for_pattern(None, _TYPE, None)
        if isinstance(quad.object, ox.NamedNode)
    }
    for iri in sorted(used):
        space, known = _vocabulary(iri)
        if space is None:
            yield from _near_namespace(iri)
        elif known and iri.removeprefix(space) not in known:
            terms = {compact(space + name) for name in known}
            yield f"there is no {compact(iri)}: {nearest(compact(iri), terms)}"
    for node, shapes in sorted(_described(graph).items(), key=str):
        allowed = {path for shape in shapes for path in _paths()[shape]} | {RDF.type}
        for quad in graph.quads_for_pattern(node, None, None):
            predicate = quad.predicate.value
            if predicate.startswith((KGB, SH)) and predicate not in allowed:
                what = " and ".join(_WORDS[shape] for shape in sorted(shapes))
                options = [compact(path) for path in allowed]
                yield (
                    f"{compact(predicate)} is not a property of {what} ({node}): "
                    f"{nearest(compact(predicate), options)}"
                )


def unknown_terms(iris: Iterable[str]) -> list[str]:
    """Return a phrase about each of ``iris`` in kgbench's namespace that does not exist.

    >>> unknown_terms([KGB.Dialogue, f"{KGB}dialoge"])[0].partition(":")[0]
    'there is no kgb'
    """
    own = [iri for iri in iris if iri.startswith(KGB) and iri != KGB]
    known = {KGB[name] for name in _own_names()} if own else set()
    terms = [compact(iri) for iri in known]
    return [
        f"there is no {compact(iri)}: {nearest(compact(iri), terms)}"
        for iri in sorted(own)
        if iri not in known
    ]


def _described(graph: ox.Store) -> dict[ox.NamedNode | ox.BlankNode, set[str]]:
    """Return the names of the shapes of the resources in a declaration."""
    shapes: dict[ox.NamedNode | ox.BlankNode, set[str]] = {}
    for quad in graph:
        if quad.predicate == _TYPE and isinstance(quad.object, ox.NamedNode):
            node, shape = quad.subject, _KINDS.get(quad.object.value)
        else:
            node, shape = quad.object, _PARTS.get(quad.predicate.value)
        if shape is not None and isinstance(node, ox.NamedNode | ox.BlankNode):
            shapes.setdefault(node, set()).add(shape)
    return shapes


def _vocabulary(iri: str) -> tuple[str | None, frozenset[str]]:
    """Return the namespace of a term and its names; ``None`` for an unknown namespace."""
    space = next((s for s in _spaces() if iri.startswith(s)), None)
    return space, frozenset() if space is None else _names().get(space, frozenset())


def _near_namespace(iri: str) -> Iterator[str]:
    space = iri[: max(iri.rfind("#"), iri.rfind("/")) + 1]
    close = get_close_matches(space, _spaces(), n=1, cutoff=_SAME)
    if close:
        yield f"<{iri}> is in no known vocabulary: did you mean <{close[0]}>?"


def _spaces() -> list[str]:
    return ["".join(space) for space in PREFIXES.values()]  # plain str instead of Namespace


@cache
def _names() -> dict[str, frozenset[str]]:
    """Return the names of each completely known vocabulary, by namespace."""
    from rdflib import namespace

    lists = (namespace.RDF, namespace.RDFS, namespace.SKOS, namespace.DCTERMS, namespace.SH)
    names_by_space = {str(vocabulary): frozenset(map(str, dir(vocabulary))) for vocabulary in lists}
    names_by_space = {
        space: frozenset(name.rpartition("#")[2].rpartition("/")[2] for name in names)
        for space, names in names_by_space.items()
    }
    names_by_space[SCHEMA] = frozenset(
        name.rpartition("/")[2] for name in map(str, dir(namespace.SDO))
    )
    names_by_space[KGB] = _own_names()
    return names_by_space


@cache
def _own_names() -> frozenset[str]:
    """Return the names that the ontology of kgbench declares."""
    own = _read(resources.path("ontology", "kgbench.ttl"))
    return frozenset(
        quad.subject.value.removeprefix(KGB)
        for quad in own
        if isinstance(quad.subject, ox.NamedNode) and quad.subject.value.startswith(KGB)
    )


@cache
def _paths() -> dict[str, frozenset[str]]:
    """Return the properties that each shape mentions, by the name of the shape."""
    graph = _read(*(resources.path("shapes", name) for name in _SHAPES))
    return {
        shape: frozenset(_mentioned_iris(graph, ox.NamedNode(f"{BASE}shapes/{shape}")))
        for shape in {*_PARTS.values(), *_KINDS.values()}
    }


def _mentioned_iris(graph: ox.Store, node: ox.NamedNode | ox.BlankNode) -> Iterator[str]:
    for quad in graph.quads_for_pattern(node, None, None):
        if isinstance(quad.object, ox.BlankNode):
            yield from _mentioned_iris(graph, quad.object)
        elif quad.predicate.value in (SH.path, RDF.first):
            yield str(quad.object.value) if isinstance(quad.object, ox.NamedNode) else ""


def _read(*files: Path) -> ox.Store:
    graph = ox.Store()
    for file in files:
        graph.bulk_load(path=str(file), format=ox.RdfFormat.TURTLE)
    return graph


def read_declarations(own: Path | None, *names: str) -> Declared:
    """Read the user's file if there is one, else the files called ``names`` in ``queries/``.

    Every term in the user's file must exist in its vocabulary.
    """
    if own is None:
        return Declared(*(resources.path("queries", name) for name in names))
    declared = Declared(own)
    check_terms(declared.graph, own)
    return declared
