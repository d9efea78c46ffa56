# SPDX-License-Identifier: Apache-2.0
"""Checks one node of a graph against one shape, repeatedly, with the graph modified and restored.

A full validation of every mutant would take minutes; the shapes are loaded once, and only the
shape that must report a violation runs, on the modified node.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pyshacl
from pyshacl.graph_abstraction import DataGraph
from pyshacl.validator import Validator
from rdflib import SH, Graph
from rdflib.term import Node

from tests.support.mutant_makers import Triple

Change = tuple[tuple[Triple, ...], tuple[Triple, ...]]


class Checker:
    """A graph that conforms to ``shapes``, to be modified and checked."""

    def __init__(self, data: Graph, shapes: Graph) -> None:
        self.data = data
        self.shapes = shapes
        self._validator = Validator(DataGraph.from_rdflib(data), shacl_graph=shapes)
        assert self._validator.shacl_graph.shapes  # the property loads the shapes
        self._executor = self._validator.make_executor()

    def complaints(self, shape: Node, focus: Node, change: Change) -> set[Node]:
        """Return the constraint components that ``shape`` reports at ``focus`` after ``change``."""
        with _changed(self.data, change), quiet():
            try:
                return self._check(shape, focus)
            except (TypeError, DeprecationWarning):  # sh:lessThanOrEquals: unordered values
                return self._check_without_order()

    def _check(self, shape: Node, focus: Node) -> set[Node]:
        known = self._validator.shacl_graph.lookup_shape_from_node(shape)
        _, reports = known.validate(self._executor, self._validator.data_graph, focus=[focus])
        return {
            o[1] if isinstance(o, tuple) else o
            for _, _, triples in reports
            for _, p, o in triples
            if p == SH.sourceConstraintComponent
        }

    def _check_without_order(self) -> set[Node]:
        unordered = Graph()
        for triple in self.shapes:
            if triple[1] != SH.lessThanOrEquals:
                unordered.add(triple)
        _, report, _ = pyshacl.validate(self.data, shacl_graph=unordered)
        return set(report.objects(None, SH.sourceConstraintComponent))


@contextmanager
def _changed(data: Graph, change: Change) -> Iterator[None]:
    remove, add = change
    for triple in remove:
        data.remove(triple)
    for triple in add:
        data.add(triple)
    try:
        yield
    finally:
        for triple in add:
            data.remove(triple)
        for triple in remove:
            data.add(triple)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence rdflib's warnings about ill-typed literals, which are deliberate here."""
    logger = logging.getLogger("rdflib.term")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)
            warnings.filterwarnings("error", "NotImplemented should not", DeprecationWarning)
            yield
    finally:
        logger.setLevel(level)
