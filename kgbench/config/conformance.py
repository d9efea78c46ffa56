# SPDX-License-Identifier: Apache-2.0
"""Validation of configuration graphs by ``shapes/configuration.ttl``, with readable findings.

Messages describe what is allowed by the shape's ``sh:description``, and what was found by the
content of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyoxigraph as ox

from kgbench.config import graphs
from kgbench.config.graphs import ConfigurationGraph, key_of, terms
from kgbench.config.trees import Tree, below
from kgbench.errors import Finding
from kgbench.nearest import nearest
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import Complaint, Data, Shape, compiled, complaints, declared_shapes
from kgbench.validation.checking import validate_node
from kgbench.validation.data import TYPE, Term
from kgbench.vocab import RDF, XSD, compact

_LONGEST = 60  # characters of a value that a message shows


@cache
def shapes() -> list[Shape]:
    """Return the shapes of configurations."""
    return compiled(declared_shapes(["configuration.ttl"]))


def findings(tree: Tree, root_type: str) -> list[Finding]:
    """Return the findings of the shapes, in the order of the file; empty if they accept."""
    return _Words(tree, graphs.of(tree.value, root_type)).findings()


class _Words:
    def __init__(self, tree: Tree, graph: ConfigurationGraph) -> None:
        self.tree = tree
        self.graph = graph
        self.data = Data(IndexedQuads(graph.triples))

    def findings(self) -> list[Finding]:
        found = {
            finding
            for complaint in complaints(self.data, shapes())
            for described in self._described(complaint)
            for finding in self._findings(described)
        }
        return sorted(found, key=lambda f: (f.line or 0, f.pointer, f.source, f.message))

    def _described(self, complaint: Complaint) -> list[Complaint]:
        """Return the complaints of the inner shape that have words, or else ``complaint``."""
        if complaint.inner is None or complaint.term not in self.graph.places:
            return [complaint]
        within = [
            described
            for nested in validate_node(self.data, complaint.inner, complaint.term)
            for described in self._described(nested)
            if described.component == "Closed" or described.source.description is not None
        ]
        return within or [complaint]

    def _findings(self, complaint: Complaint) -> Iterator[Finding]:
        if complaint.component == "Closed":
            yield from self._unknown_keys(complaint)
            return
        shape, pointer = complaint.source, self.graph.places[complaint.focus]
        allowed = shape.description or "what the shapes of configurations say"
        if complaint.component == "MaxCount":
            message = f"found more than one value; allowed: {allowed}"
            yield self.tree.finding(below(pointer, shape.label or ""), message)
        elif shape.label is None or complaint.term is None:
            yield self.tree.finding(pointer, f"needed: {allowed}")
        else:
            value, pointer = complaint.term, below(pointer, shape.label)
            pointer = self.graph.places.get(value) or self.graph.members.get(
                (pointer, value), pointer
            )
            yield self.tree.finding(pointer, f"found {_value_text(value)}; allowed: {allowed}")

    def _unknown_keys(self, complaint: Complaint) -> Iterator[Finding]:
        """Yield a finding for each property of a node that its closed shape does not list."""
        pointer = self.graph.places[complaint.focus]
        properties = complaint.source.properties
        known = sorted({inner.label for inner in properties if inner.label is not None})
        listed = {inner.path_name for inner in properties}
        for predicate in self.data.about(complaint.focus):
            if predicate.value in (RDF.first, RDF.rest):
                message = f"found a list; allowed: an object with {', '.join(known)}"
                yield self.tree.finding(pointer, message)
            elif predicate != TYPE and compact(predicate.value) not in listed:
                key = _short(key_of(predicate.value))
                belongs = f"the key '{key}' does not belong here"
                problem = belongs if key in terms() else f"unknown key '{key}'"
                hint = nearest(key, known)
                listing = f" (known here are {', '.join(known)})" * (not hint.startswith("known"))
                yield self.tree.finding(below(pointer, key), f"{problem}: {hint}{listing}")


def _value_text(value: Term) -> str:
    if not isinstance(value, ox.Literal):
        return "an empty list" if value.value == RDF.nil else "an object or a list"
    if value.language is not None:
        return f"the text {_short(value.value)!r} in the language {value.language}"
    if value.datatype.value == XSD.string:
        return f"the text {_short(value.value)!r}"
    return _short(value.value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
