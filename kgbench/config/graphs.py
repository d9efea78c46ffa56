# SPDX-License-Identifier: Apache-2.0
"""Configurations as RDF graphs, with the position of each node in the file.

YAML and JSON become RDF through ``ontology/context.jsonld``; Turtle is RDF already.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

from kgbench import resources
from kgbench.config import json_tree, turtle_graph, yaml_tree
from kgbench.config.credentials import in_graph_terms, in_text, in_tree, without_keys
from kgbench.config.documents import Document
from kgbench.config.trees import MAX_DEPTH, Tree, below
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation.data import TYPE, Data, Term
from kgbench.vocab import KGB, RDF, XSD, Namespace, compact

# Parameters are properties in one namespace; unknown keys become properties in another, so that the
# shapes see and refuse them.
PARAMETER = Namespace("https://w3id.org/kgbench/parameter#")
UNKNOWN = Namespace("https://w3id.org/kgbench/unknown-key#")

CONFIGURATION = KGB.Configuration
PART = KGB.ConfigurationPart

# Names of keys in the first version of LLM-KG-Bench.
_FORMER_KEYS = {"tasks": "tests"}

# The IRIs of nodes made from YAML and JSON contain their pointer.
_PLACE = "urn:kgbench:document#"

_FIRST, _REST, _NIL = (ox.NamedNode(iri) for iri in (RDF.first, RDF.rest, RDF.nil))


@dataclass(frozen=True, slots=True)
class ConfigurationGraph:
    """The graph of one file, with its root node and the JSON pointer of each node."""

    source: str
    triples: tuple[ox.Triple, ...]
    root: Term
    tree: Tree
    places: dict[Term, str] = field(default_factory=dict)
    graph: Data = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", Data(IndexedQuads(self.triples)))

    def finding(self, pointer: str, message: str) -> Finding:
        """Return a finding about the value at ``pointer``, with its line if it is known."""
        position = self.tree.written(pointer)
        return without_keys(Finding(self.source, position, message, self.tree.line(position)))

    def one(self, node: Term, prop: str) -> Term | None:
        """Return a value of ``prop`` (IRI) at ``node``, or ``None``."""
        return next(iter(self.graph.values(node, ox.NamedNode(prop))), None)

    def statements(self, node: Term) -> list[tuple[str, Term]]:
        """Return the predicates (IRIs) and values of ``node``."""
        properties = self.graph.about(node)
        return [
            (predicate.value, value) for predicate in properties for value in properties[predicate]
        ]

    def cells(self, head: Term) -> list[tuple[Term, Term]] | None:
        """Return the cells of a list with their members, or ``None`` for a malformed list."""
        pairs: dict[Term, Term] = {}
        while head != _NIL:
            values = self.graph.values(head, _FIRST)
            after = self.graph.values(head, _REST)
            if len(values) != 1 or len(after) != 1 or head in pairs:
                return None
            pairs[head] = values[0]
            head = after[0]
        return list(pairs.items())

    def members(self, head: Term) -> list[Term] | None:
        """Return the members of a list, or ``None`` for a malformed list."""
        cells = self.cells(head)
        return None if cells is None else [member for _, member in cells]


def read(document: Document, root_type: str = CONFIGURATION) -> ConfigurationGraph:
    """Return the graph of ``document``, whose root has the type ``root_type``.

    Raises :class:`~kgbench.errors.ConfigurationError` for syntax errors, API keys, nulls, and
    statements that are not connected to the root.
    """
    suspicious = in_text(document.source, document.text)
    try:
        return _read(document, root_type, suspicious)
    except ConfigurationError as error:
        known = {(f.line, f.message) for f in error.findings}
        new_findings = [f for f in suspicious if (f.line, f.message) not in known]
        raise ConfigurationError(
            [without_keys(f) for f in (*error.findings, *new_findings)]
        ) from None


def _read(document: Document, root_type: str, suspicious: list[Finding]) -> ConfigurationGraph:
    if document.syntax == "turtle":
        if suspicious:
            raise ConfigurationError([])
        triples = turtle_graph.read(document.source, document.text)
        tree = Tree(document.source)
        keys = in_graph_terms(document.source, [t.value for triple in triples for t in triple])
        if keys:
            raise ConfigurationError(keys)
        root = turtle_graph.root(document.source, triples, root_type)
        turtle_graph.check_tree(document.source, triples, root)
    else:
        reader = yaml_tree if document.syntax == "yaml" else json_tree
        tree = _with_present_keys(reader.read(document.source, document.text))
        keys = in_tree(tree)
        if keys or suspicious:
            raise ConfigurationError(keys)
        triples, root = _triples(tree, root_type), ox.NamedNode(_PLACE)
    graph = ConfigurationGraph(document.source, tuple(triples), root, tree)
    _walk(graph)
    if document.syntax == "turtle":
        turtle_graph.check_connected(document.source, triples, graph.places)
    return graph


def _with_present_keys(tree: Tree) -> Tree:
    """Replace former names of keys by the current ones; findings keep the former names."""
    if isinstance(tree.value, dict):
        for present, former in _FORMER_KEYS.items():
            if former in tree.value and present not in tree.value:
                tree.former[present] = former
                members = tree.value.items()
                tree.value = {present if key == former else key: member for key, member in members}
    return tree


# --- YAML and JSON --------------------------------------------------------------------------


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


def _triples(tree: Tree, root_type: str) -> Collection[ox.Triple]:
    if not isinstance(tree.value, dict):
        kind = "a list" if isinstance(tree.value, list) else "a single value"
        tree.note("", f"found {kind}; allowed: an object with keys such as 'tasks' and 'models'")
    if tree.findings:
        raise ConfigurationError(tree.findings)
    document = {
        "@context": context(),
        **_object(tree.value, "", within_params=False),
        "@type": root_type,
    }
    # pyoxigraph's parser does not load remote contexts.
    quads = ox.parse(json.dumps(document), format=ox.RdfFormat.JSON_LD)
    return dict.fromkeys(quad.triple for quad in quads).keys()


def _object(value: dict[str, Json], pointer: str, *, within_params: bool) -> dict[str, Json]:
    """Return a JSON-LD node with an IRI, all of whose keys expand, so that nothing is dropped."""
    node: dict[str, Json] = {"@id": _PLACE + quote(pointer)}
    for key, member in value.items():
        known = not within_params and key in terms()
        position = below(pointer, key)
        name = key if known else quote(key, safe="")
        inside = within_params or key == "params"
        if isinstance(member, list) and known and (key in _lists() or key == "params"):
            node[name] = [
                _value(item, below(position, number), within_params=inside)
                for number, item in enumerate(member)
            ]
        else:
            node[name] = _value(member, position, within_params=inside)
    return node


def _value(value: Json, pointer: str, *, within_params: bool) -> Json:
    if isinstance(value, dict):
        return _object(value, pointer, within_params=within_params)
    if isinstance(value, list):
        members = [
            _value(item, below(pointer, number), within_params=within_params)
            for number, item in enumerate(value)
        ]
        return {"@list": members}
    # Numbers become typed values: JSON-LD would convert 5.0 to 5, and 2^60 to a double.
    if isinstance(value, bool):
        return {"@value": "true" if value else "false", "@type": XSD.boolean}
    if isinstance(value, int):
        return {"@value": str(value), "@type": XSD.integer}
    if isinstance(value, float):
        return {"@value": repr(value), "@type": XSD.double}
    return {"@value": value}


# --- places ---------------------------------------------------------------------------------


def key_of(predicate: str) -> str:
    """Return the key in YAML and JSON for a property; other properties in short form."""
    for namespace in (PARAMETER, UNKNOWN):
        if predicate.startswith(namespace):
            return unquote(predicate.removeprefix(namespace))
    return _keys().get(predicate) or compact(predicate)


@cache
def _keys() -> dict[str, str]:
    return {iri: key for key, iri in terms().items()}


def _walk(graph: ConfigurationGraph) -> None:
    """Record the pointer of every node that is reachable from the root."""
    pending: list[tuple[Term, str]] = [(graph.root, "")]
    while pending:
        node, pointer = pending.pop()
        if node in graph.places or isinstance(node, ox.Literal):
            continue
        if node.value.startswith(_PLACE):
            pointer = unquote(node.value.removeprefix(_PLACE))
        if pointer.count("/") > MAX_DEPTH:
            raise graph.tree.refusal("", f"nested deeper than {MAX_DEPTH} levels")
        graph.places[node] = pointer
        for predicate, value in graph.statements(node):
            if predicate != TYPE.value:
                pending += _members(graph, value, below(pointer, key_of(predicate)))


def _members(graph: ConfigurationGraph, value: Term, pointer: str) -> list[tuple[Term, str]]:
    """Return ``value``, or the members of a list, whose cells get the pointer of the list."""
    cells = graph.cells(value)
    if not cells:
        return [(value, pointer)]
    graph.places.update((cell, pointer) for cell, _ in cells)
    return [(member, below(pointer, number)) for number, (_, member) in enumerate(cells)]
