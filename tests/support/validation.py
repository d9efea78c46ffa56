# SPDX-License-Identifier: Apache-2.0
"""Validation of all named graphs of a store that a test has written.

Nodes that equal the declared files are not validated again: this is done by
``test_declared_catalogue_conforms``. All others are, by every shape that targets them, with the
engine of :mod:`kgbench.validation`; other tests hold it to the findings of pySHACL.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgbench.rdf.quads import IndexedQuads
from kgbench.store.embedded import EmbeddedStore
from kgbench.validation import (
    SHAPE_FILES,
    Data,
    compiled,
    complaints,
    declared_shapes,
    result_shapes,
)
from kgbench.validation.checking import validate_node

_SHOWN = 20
_ALL = "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"


def assert_conforms(store: Any) -> None:
    """Fail with the violations unless the named graphs of ``store`` conform to the shapes.

    ``store`` is a kgbench store (whose catalogue has all declarations) or a plain
    ``pyoxigraph.Store`` with the same graphs.
    """
    wrong = violations(store)
    more = "" if len(wrong) <= _SHOWN else f"\n... and {len(wrong) - _SHOWN} more"
    assert not wrong, "\n".join(wrong[:_SHOWN]) + more


def report(data: Iterable[ox.Quad | ox.Triple], shape_set: str) -> list[str]:
    """Return the violations of declared shapes, a sentence each; names of graphs are ignored.

    ``shape_set`` is a key of :data:`kgbench.validation.SHAPE_FILES`.
    """
    graph = Data(IndexedQuads(data))
    if shape_set == "results":
        shapes = result_shapes(graph)
    else:
        shapes = compiled(declared_shapes(SHAPE_FILES[shape_set]))
    return sorted(set(map(str, complaints(graph, shapes))))


def violations(store: Any) -> list[str]:
    """Return the violations of the result shapes by nodes of ``store`` that are not declared."""
    declared, subjects, indexed = _declarations()
    found = frozenset(store.query(_ALL))
    own, missing = found - declared, declared - found
    data = Data(IndexedQuads(found) if missing else IndexedQuads(own, indexed))
    changed = {triple.subject for triple in own | missing}
    wrong = set()
    for shape in result_shapes(data):
        nodes = {node for target in shape.targets for node in target(data)}
        for node in nodes:
            if node in changed or node not in subjects:
                wrong.update(map(str, validate_node(data, shape, node)))
    return sorted(wrong)


@cache
def _declarations() -> tuple[frozenset[ox.Triple], frozenset[Any], IndexedQuads]:
    """Return the content of a new catalogue: as a set, its subjects, and indexed."""
    with EmbeddedStore(None) as store:
        declared = frozenset(store.query(_ALL))
    return declared, frozenset(triple.subject for triple in declared), IndexedQuads(declared)
