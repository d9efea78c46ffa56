# SPDX-License-Identifier: Apache-2.0
"""Configurations as RDF graphs, each node with its place in the file.

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
from kgbench.validation.data import TYPE, Data, Memory, Term
from kgbench.vocab import KGB, RDF, XSD, Namespace, compact

# Values of parameters are properties in one namespace; keys that nobody knows are properties in
# another, so that they reach the shapes, which refuse them.
PARAMETER = Namespace("https://w3id.org/kgbench/parameter#")
UNKNOWN = Namespace("https://w3id.org/kgbench/unknown-key#")

CONFIGURATION = KGB.Configuration
PART = KGB.ConfigurationPart

# What a key was called in the first version of LLM-KG-Bench.
_FORMER_KEYS = {"tasks": "tests"}

# Nodes made from YAML and JSON carry their pointer in their IRI.
_PLACE = "urn:kgbench:document#"

_FIRST, _REST, _NIL = (ox.NamedNode(iri) for iri in (RDF.first, RDF.rest, RDF.nil))


@dataclass(frozen=True, slots=True)
class ConfigurationGraph:
    """The graph of one file: its root node, and where in the file each node is."""

    source: str
    triples: tuple[ox.Triple, ...]
    root: Term
    tree: Tree
    places: dict[Term, str] = field(default_factory=dict)
    graph: Data = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", Data(Memory(self.triples)))

    def finding(self, pointer: str, message: str) -> Finding:
        """A finding about the value at ``pointer``, with its line where that is known."""
        place = self.tree.written(pointer)
        return without_keys(Finding(self.source, place, message, self.tree.line(place)))

    def one(self, node: Term, prop: str) -> Term | None:
        """A value of ``prop`` (IRI) at ``node``, if it has any."""
        return next(iter(self.graph.values(node, ox.NamedNode(prop))), None)

    def statements(self, node: Term) -> list[tuple[str, Term]]:
        """Predicates (IRIs) and values of ``node``."""
        about = self.graph.about(node)
        return [(predicate.value, value) for predicate in about for value in about[predicate]]

    def cells(self, head: Term) -> list[tuple[Term, Term]] | None:
        """The cells of a list with their members, or ``None`` for what is no well-formed list."""
        found: dict[Term, Term] = {}
        while head != _NIL:
            values = self.graph.values(head, _FIRST)
            after = self.graph.values(head, _REST)
            if len(values) != 1 or len(after) != 1 or head in found:
                return None
            found[head] = values[0]
            head = after[0]
        return list(found.items())

    def members(self, head: Term) -> list[Term] | None:
        """The members of a list, or ``None`` for what is no well-formed list."""
        cells = self.cells(head)
        return None if cells is None else [member for _, member in cells]


def read(document: Document, root_type: str = CONFIGURATION) -> ConfigurationGraph:
    """The graph of ``document``, whose root is of type ``root_type``.

    Raises :class:`~kgbench.errors.ConfigurationError` for what does not parse, for keys, for
    nulls, and for statements that hang in the air.
    """
    suspicious = in_text(document.source, document.text)
    try:
        return _read(document, root_type, suspicious)
    except ConfigurationError as error:
        known = {(f.line, f.message) for f in error.findings}
        found = [f for f in suspicious if (f.line, f.message) not in known]
        raise ConfigurationError([without_keys(f) for f in (*error.findings, *found)]) from None


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
    found = ConfigurationGraph(document.source, tuple(triples), root, tree)
    _walk(found)
    if document.syntax == "turtle":
        turtle_graph.check_connected(document.source, triples, found.places)
    return found


def _with_present_keys(tree: Tree) -> Tree:
    """``tree`` with its former keys under their present names; findings name the former ones."""
    if isinstance(tree.value, dict):
        for present, former in _FORMER_KEYS.items():
            if former in tree.value and present not in tree.value:
                tree.former[present] = former
                members = tree.value.items()
                tree.value = {present if key == former else key: each for key, each in members}
    return tree


# --- YAML and JSON --------------------------------------------------------------------------


@cache
def context() -> dict[str, Any]:
    """The JSON-LD context of configurations."""
    found: dict[str, Any] = json.loads(resources.text("ontology", "context.jsonld"))["@context"]
    return found


@cache
def terms() -> dict[str, str]:
    """The IRI of every key that the context knows."""
    return {
        key: value if isinstance(value, str) else value["@id"]
        for key, value in context().items()
        if not key.startswith("@")
    }


@cache
def _lists() -> frozenset[str]:
    given = (item for item in context().items() if isinstance(item[1], dict))
    return frozenset(key for key, value in given if value.get("@container") == "@list")


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
    # The parser reads no remote context, whatever a document names.
    found = ox.parse(json.dumps(document), format=ox.RdfFormat.JSON_LD)
    return dict.fromkeys(quad.triple for quad in found).keys()


def _object(value: dict[str, Json], pointer: str, *, within_params: bool) -> dict[str, Json]:
    """A JSON-LD node that nothing can fall out of: with an IRI, and only keys that become IRIs."""
    node: dict[str, Json] = {"@id": _PLACE + quote(pointer)}
    for key, member in value.items():
        known = not within_params and key in terms()
        place = below(pointer, key)
        name = key if known else quote(key, safe="")
        inside = within_params or key == "params"
        if isinstance(member, list) and known and (key in _lists() or key == "params"):
            node[name] = [
                _value(each, below(place, number), within_params=inside)
                for number, each in enumerate(member)
            ]
        else:
            node[name] = _value(member, place, within_params=inside)
    return node


def _value(value: Json, pointer: str, *, within_params: bool) -> Json:
    if isinstance(value, dict):
        return _object(value, pointer, within_params=within_params)
    if isinstance(value, list):
        members = [
            _value(each, below(pointer, number), within_params=within_params)
            for number, each in enumerate(value)
        ]
        return {"@list": members}
    # Numbers are written out here: JSON-LD would turn 5.0 into 5, and 2^60 into a double.
    if isinstance(value, bool):
        return {"@value": "true" if value else "false", "@type": XSD.boolean}
    if isinstance(value, int):
        return {"@value": str(value), "@type": XSD.integer}
    if isinstance(value, float):
        return {"@value": repr(value), "@type": XSD.double}
    return {"@value": value}


# --- places ---------------------------------------------------------------------------------


def key_of(predicate: str) -> str:
    """The key that YAML and JSON have for a property; other properties in short form."""
    for namespace in (PARAMETER, UNKNOWN):
        if predicate.startswith(namespace):
            return unquote(predicate.removeprefix(namespace))
    return _keys().get(predicate) or compact(predicate)


@cache
def _keys() -> dict[str, str]:
    return {iri: key for key, iri in terms().items()}


def _walk(found: ConfigurationGraph) -> None:
    """Note the pointer of every node that can be reached."""
    pending: list[tuple[Term, str]] = [(found.root, "")]
    while pending:
        node, pointer = pending.pop()
        if node in found.places or isinstance(node, ox.Literal):
            continue
        if node.value.startswith(_PLACE):
            pointer = unquote(node.value.removeprefix(_PLACE))
        if pointer.count("/") > MAX_DEPTH:
            raise found.tree.refusal("", f"nested deeper than {MAX_DEPTH} levels")
        found.places[node] = pointer
        for predicate, value in found.statements(node):
            if predicate != TYPE.value:
                pending += _reached(found, value, below(pointer, key_of(predicate)))


def _reached(found: ConfigurationGraph, value: Term, place: str) -> list[tuple[Term, str]]:
    """``value``, or the members of the list that it is; the cells of the list have its place."""
    cells = found.cells(value)
    if not cells:
        return [(value, place)]
    found.places.update((cell, place) for cell, _ in cells)
    return [(member, below(place, number)) for number, (_, member) in enumerate(cells)]
