# SPDX-License-Identifier: Apache-2.0
"""The graph formats that tasks show, with other names for them, and deterministic serialisers.

Prompts are part of the identity of a dialogue, so their graphs must not depend on the version of a
serialiser. Triples keep their order: subjects, and the predicates and objects of each subject, come
in the order of their first occurrence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.model import Json
from kgbench.vocab import RDF, XSD

FORMATS: Final = ("turtle", "json-ld", "xml", "ntriples")

# Names of formats in configurations and published results.
ALIASES: Final = {
    "nt": "ntriples",
    "n-triples": "ntriples",
    "ttl": "turtle",
    "jsonld": "json-ld",
    "rdf/xml": "xml",
    "rdfxml": "xml",
}

TITLES: Final = {
    "turtle": "Turtle",
    "json-ld": "JSON-LD",
    "xml": "RDF/XML",
    "ntriples": "N-Triples",
}


def canonical_format(name: str) -> str:
    """Return the name that kgbench uses for a graph format; an unknown name is returned unchanged.

    >>> canonical_format("nt")
    'ntriples'
    """
    return ALIASES.get(name.lower(), name)


Term = ox.NamedNode | ox.BlankNode | ox.Literal
Prefixes = Mapping[str, str]
Grouped = dict[ox.NamedNode | ox.BlankNode, dict[ox.NamedNode, list[Term]]]

# Literals that Turtle writes without quotes, by datatype.
_BARE = {
    XSD.integer: re.compile(r"[+-]?[0-9]+"),
    XSD.decimal: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD.boolean: re.compile(r"true|false"),
}
_LOCAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def triples(turtle_text: str) -> list[ox.Triple]:
    """Return the triples of a Turtle document in order, with blank nodes named b0, b1 and so on."""
    names: dict[ox.BlankNode, ox.BlankNode] = {}

    def named(term: object) -> object:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term, ox.BlankNode(f"b{len(names)}"))
        return term

    return [
        ox.Triple(named(quad.subject), quad.predicate, named(quad.object))  # type: ignore[arg-type]
        for quad in ox.parse(turtle_text, ox.RdfFormat.TURTLE)
    ]


def serialise(graph: Sequence[ox.Triple], graph_format: str, prefixes: Prefixes) -> str:
    """Serialise ``graph`` in ``graph_format``, one of :data:`FORMATS`.

    ``prefixes`` maps prefixes to namespaces; Turtle and RDF/XML declare all. No final line break.
    """
    return _WRITERS[graph_format](graph, prefixes)


@cache
def in_format(turtle_text: str, graph_format: str) -> str:
    """Convert a graph in Turtle to the format that a prompt shows."""
    if graph_format == "turtle":
        return turtle_text.strip()
    return serialise(triples(turtle_text), graph_format, declared_prefixes(turtle_text))


@cache
def declared_prefixes(turtle_text: str) -> dict[str, str]:
    """Return the prefixes that a Turtle document declares, in the order of their names."""
    parser = ox.parse(turtle_text.encode("utf-8"), ox.RdfFormat.TURTLE)
    for _ in parser:  # the parser knows all prefixes at the end of the document
        pass
    return dict(sorted(parser.prefixes.items()))


def ntriples(graph: Iterable[ox.Triple], prefixes: Prefixes) -> str:  # noqa: ARG001 - one signature
    """Return N-Triples with one line for each triple."""
    return "\n".join(f"{triple} ." for triple in graph)


def turtle(graph: Iterable[ox.Triple], prefixes: Prefixes) -> str:
    """Turtle with a paragraph for each subject; blank nodes keep their names."""
    lines = [f"@prefix {name}: <{namespace}> ." for name, namespace in prefixes.items()]
    for subject, properties in _grouped(graph).items():
        parts = []
        for predicate, objects in properties.items():
            name = "a" if predicate.value == RDF.type else _short(predicate, prefixes)
            values = " ,\n        ".join(_short(value, prefixes) for value in objects)
            parts.append(f"{name} {values}")
        lines += ["", f"{_short(subject, prefixes)} " + " ;\n    ".join(parts) + " ."]
    return "\n".join(lines)


def rdf_xml(graph: Iterable[ox.Triple], prefixes: Prefixes) -> str:
    """RDF/XML with one rdf:Description for each subject."""
    names = {"rdf": str(RDF)} | dict(prefixes)
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<rdf:RDF"]
    lines += [
        f"  xmlns:{n}={quoteattr(i)}" if n else f"  xmlns={quoteattr(i)}" for n, i in names.items()
    ]
    lines[-1] += ">"
    for subject, properties in _grouped(graph).items():
        lines.append(f"  <rdf:Description {_xml_node(subject, 'about')}>")
        for predicate, objects in properties.items():
            name = _xml_name(predicate.value, names)
            lines += [f"    {_xml_property(name, value)}" for value in objects]
        lines.append("  </rdf:Description>")
    return "\n".join([*lines, "</rdf:RDF>"])


def json_ld(graph: Iterable[ox.Triple], prefixes: Prefixes) -> str:  # noqa: ARG001 - one signature
    """Write expanded JSON-LD: a list of nodes with full IRIs, without a context."""
    nodes: list[Json] = []
    for subject, properties in _grouped(graph).items():
        node: dict[str, Json] = {"@id": _json_id(subject)}
        for predicate, objects in properties.items():
            if predicate.value == RDF.type:
                node["@type"] = [_json_id(value) for value in objects]
            else:
                node[predicate.value] = [_json_value(value) for value in objects]
        nodes.append(node)
    return json.dumps(nodes, indent=2, ensure_ascii=False)


_WRITERS: dict[str, Callable[[Sequence[ox.Triple], Prefixes], str]] = {
    "turtle": turtle,
    "ntriples": ntriples,
    "xml": rdf_xml,
    "json-ld": json_ld,
}


def _grouped(graph: Iterable[ox.Triple]) -> Grouped:
    groups: Grouped = {}
    for triple in graph:
        assert isinstance(triple.subject, ox.NamedNode | ox.BlankNode)
        assert isinstance(triple.object, ox.NamedNode | ox.BlankNode | ox.Literal)
        groups.setdefault(triple.subject, {}).setdefault(triple.predicate, []).append(triple.object)
    return groups


def _short(term: Term, prefixes: Prefixes) -> str:
    """Return a term in Turtle syntax, with a prefix if one fits."""
    if isinstance(term, ox.NamedNode):
        for name, namespace in prefixes.items():
            local = term.value.removeprefix(namespace)
            if local != term.value and _LOCAL_NAME.fullmatch(local):
                return f"{name}:{local}"
    if isinstance(term, ox.Literal) and not term.language:
        bare = _BARE.get(term.datatype.value)
        if bare is not None and bare.fullmatch(term.value):
            return term.value
    return str(term)


def _xml_node(term: ox.NamedNode | ox.BlankNode, attribute: str) -> str:
    if isinstance(term, ox.BlankNode):
        return f"rdf:nodeID={quoteattr(term.value)}"
    return f"rdf:{attribute}={quoteattr(term.value)}"


def _xml_name(iri: str, names: Prefixes) -> str:
    for name, namespace in names.items():
        local = iri.removeprefix(namespace)
        if local != iri and _LOCAL_NAME.fullmatch(local):
            return f"{name}:{local}" if name else local
    raise TaskError(f"no prefix makes an XML name of the property {iri}: choose another format")


def _xml_property(name: str, term: Term) -> str:
    if not isinstance(term, ox.Literal):
        return f"<{name} {_xml_node(term, 'resource')}/>"
    attribute = ""
    if term.language:
        attribute = f" xml:lang={quoteattr(term.language)}"
    elif term.datatype.value != XSD.string:
        attribute = f" rdf:datatype={quoteattr(term.datatype.value)}"
    return f"<{name}{attribute}>{escape(term.value)}</{name}>"


def _json_id(term: Term) -> str:
    return str(term) if isinstance(term, ox.BlankNode) else term.value


def _json_value(term: Term) -> Json:
    if not isinstance(term, ox.Literal):
        return {"@id": _json_id(term)}
    value: dict[str, Json] = {"@value": term.value}
    if term.language:
        value["@language"] = term.language
    elif term.datatype.value != XSD.string:
        value["@type"] = term.datatype.value
    return value
