# SPDX-License-Identifier: Apache-2.0
"""Configurations as RDF graphs, and their validation, with readable findings.

``ontology/context.jsonld`` defines the graphs as it does for JSON-LD; ``shapes/configuration.ttl``
validates them. Messages describe what is allowed by the shape's ``sh:description``, and what was
found by the content of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

from kgbench import resources
from kgbench.config.trees import Several, Tree, below
from kgbench.errors import Finding, nearest
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import Complaint, Data, Shape, compiled, complaints, declared_shapes
from kgbench.validation.checking import validate_node
from kgbench.validation.data import TYPE, Term
from kgbench.vocab import KGB, RDF, XSD, Namespace, compact

# Parameters are properties in one namespace; unknown keys become properties in another, so that the
# shapes see and refuse them.
PARAMETER = Namespace("https://w3id.org/kgbench/parameter#")
UNKNOWN = Namespace("https://w3id.org/kgbench/unknown-key#")

CONFIGURATION = KGB.Configuration
PART = KGB.ConfigurationPart

_NIL = ox.NamedNode(RDF.nil)
_LONGEST = 60  # characters of a value that a message shows


@cache
def context() -> dict[str, Any]:
    """Return the JSON-LD context of configurations."""
    value: dict[str, Any] = json.loads(resources.text("ontology", "context.jsonld"))["@context"]
    return value


@cache
def terms() -> dict[str, str]:
    """Return the IRI of every key in the context."""
    return {
        key: value if isinstance(value, str) else value["@id"]
        for key, value in context().items()
        if not key.startswith("@")
    }


@cache
def _lists() -> frozenset[str]:
    items = (item for item in context().items() if isinstance(item[1], dict))
    return frozenset(key for key, value in items if value.get("@container") == "@list")


@cache
def keys() -> dict[str, str]:
    """Return the key of every IRI in the context."""
    return {iri: key for key, iri in terms().items()}


def key_of(predicate: str) -> str:
    """Return the key of a property in the graph of a configuration."""
    for namespace in (PARAMETER, UNKNOWN):
        if predicate.startswith(namespace):
            return unquote(predicate.removeprefix(namespace))
    return keys()[predicate]


@dataclass(slots=True)
class ConfigurationGraph:
    """The triples of a configuration, and the JSON pointer of each of its nodes.

    The cells of a list have the pointer of the list; ``members`` has the pointers of the
    members of lists, by the pointer of the list.
    """

    triples: list[ox.Triple] = field(default_factory=list)
    places: dict[Term, str] = field(default_factory=dict)
    members: dict[tuple[str, Term], str] = field(default_factory=dict)

    def object(self, value: Mapping[str, Any], pointer: str, *, within_params: bool) -> Term:
        """Add an object, whose keys all become properties, so that nothing is dropped."""
        node = self._node(pointer)
        for key, member in value.items():
            known = not within_params and key in terms()
            namespace = PARAMETER if within_params else UNKNOWN
            predicate = terms()[key] if known else namespace + quote(key, safe="")
            position, inside = below(pointer, key), within_params or key == "params"
            if known and key in _lists() and not isinstance(member, list):
                one = self._value(member, position, within_params=inside)
                self._add(node, predicate, self._list([(one, position)], position))
                continue
            values = [(member, position)]
            if isinstance(member, Several):
                values = [(one, position) for one in member]
            elif known and key == "params" and isinstance(member, list):
                values = [(one, below(position, number)) for number, one in enumerate(member)]
            for one, place in values:
                self._add(node, predicate, self._value(one, place, within_params=inside))
        return node

    def _value(self, value: Any, pointer: str, *, within_params: bool) -> Term:
        if isinstance(value, dict):
            return self.object(value, pointer, within_params=within_params)
        if not isinstance(value, list):
            return literal(value)
        places = [below(pointer, number) for number in range(len(value))]
        members = [
            (self._value(member, place, within_params=within_params), place)
            for member, place in zip(value, places, strict=True)
        ]
        return self._list(members, pointer)

    def _list(self, members: Sequence[tuple[Term, str]], pointer: str) -> Term:
        head: Term = _NIL
        for member, place in reversed(members):
            self.members[pointer, member] = place  # the first of equal ones
            cell = self._node(pointer)
            self._add(cell, RDF.first, member)
            self._add(cell, RDF.rest, head)
            head = cell
        return head

    def _node(self, pointer: str) -> ox.BlankNode:
        node = ox.BlankNode()
        self.places[node] = pointer
        return node

    def _add(self, subject: Term, predicate: str, value: Term) -> None:
        self.triples.append(ox.Triple(subject, ox.NamedNode(predicate), value))


def of(value: Mapping[str, Any], root_type: str) -> ConfigurationGraph:
    """Return the graph of a configuration, whose root has the type ``root_type``."""
    graph = ConfigurationGraph()
    root = graph.object(value, "", within_params=False)
    graph.triples.append(ox.Triple(root, TYPE, ox.NamedNode(root_type)))
    return graph


def literal(value: Any) -> ox.Literal:
    """Return a single value as a literal; what is one already stays as it is."""
    if isinstance(value, ox.Literal):
        return value
    if isinstance(value, bool):
        return ox.Literal("true" if value else "false", datatype=ox.NamedNode(XSD.boolean))
    if isinstance(value, int):
        return ox.Literal(str(value), datatype=ox.NamedNode(XSD.integer))
    if isinstance(value, float):
        return ox.Literal(repr(value), datatype=ox.NamedNode(XSD.double))
    return ox.Literal(value)


@cache
def shapes() -> list[Shape]:
    """Return the shapes of configurations."""
    return compiled(declared_shapes(["configuration.ttl"]))


def findings(tree: Tree, root_type: str) -> list[Finding]:
    """Return the findings of the shapes, in the order of the file; empty if they accept."""
    return _Words(tree, of(tree.value, root_type)).findings()


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
