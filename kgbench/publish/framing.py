# SPDX-License-Identifier: Apache-2.0
"""JSON-LD trees as in JSON-LD 1.1 Framing, one tree per dialogue.

Properties that point from parts to wholes in the graph are reversed in the tree: a dialogue has its
calls and evaluations, a call its answers. A tool call has the tool's result as its answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.vocab import DCTERMS, KGB, PREFIXES, PROV, RDF, XSD

#: Prefixes of records. Few, because each prefix is tried on every IRI.
_RECORDED = ("kgb", "outcome", "prov", "dcterms", "schema", "rdf", "rdfs", "xsd")
CONTEXT: Mapping[str, Any] = {
    **{prefix: str(PREFIXES[prefix]) for prefix in _RECORDED},
    "parts": {"@reverse": "dcterms:isPartOf"},
    "answers": {"@reverse": "prov:wasGeneratedBy"},
    "toolCalls": {"@reverse": "prov:wasInformedBy"},
    "verdicts": {"@reverse": "prov:wasDerivedFrom"},
    "evaluations": {"@reverse": "kgb:dialogue"},
}
_ALL_PREFIXES = {prefix: str(iri) for prefix, iri in PREFIXES.items()}
_MOST_KEPT = 2_000  # names with their prefixes
_Shortening: TypeAlias = Callable[[str], str]
CLOSING = "\n]}\n"
"""The end of a JSON-LD document."""
_NOT_EMBEDDED = {"@embed": "@never"}
#: The frame of a dialogue. Other nodes are embedded where they are referred to, once per branch.
DIALOGUE: Mapping[str, Any] = {
    "@context": dict(CONTEXT),
    "@type": "kgb:Dialogue",
    "@embed": "@once",
    "parts": {
        "@type": "kgb:ModelCall",
        "prov:used": {"prov:wasDerivedFrom": _NOT_EMBEDDED},
        "answers": {
            "@type": "kgb:Answer",
            "prov:wasDerivedFrom": _NOT_EMBEDDED,
            "verdicts": {
                "@type": ["kgb:Verdict", "kgb:CalibrationVerdict"],
                "prov:wasDerivedFrom": _NOT_EMBEDDED,
            },
        },
        "toolCalls": {
            "@type": "kgb:ToolCall",
            "prov:wasInformedBy": _NOT_EMBEDDED,
            "answers": {"@type": "kgb:ToolResult"},
        },
    },
    "evaluations": {
        "@type": "kgb:Evaluation",
        "prov:wasDerivedFrom": _NOT_EMBEDDED,
        "prov:wasRevisionOf": _NOT_EMBEDDED,
    },
}
#: Properties with references only: the node is elsewhere in the tree, or in another dialogue.
_REFERENCES = frozenset((PROV.wasDerivedFrom, PROV.wasRevisionOf, PROV.wasInformedBy))


class _Branch(NamedTuple):
    """Nodes that a frame embeds in the node that they refer to: term, property, allowed types."""

    term: str
    property: str
    kinds: frozenset[str]
    within: tuple[_Branch, ...] = ()


_VERDICTS = _Branch(
    "verdicts", PROV.wasDerivedFrom, frozenset((KGB.Verdict, KGB.CalibrationVerdict))
)
_BRANCHES = (
    _Branch(
        "parts",
        DCTERMS.isPartOf,
        frozenset((KGB.ModelCall,)),
        (
            _Branch("answers", PROV.wasGeneratedBy, frozenset((KGB.Answer,)), (_VERDICTS,)),
            _Branch(
                "toolCalls",
                PROV.wasInformedBy,
                frozenset((KGB.ToolCall,)),
                (_Branch("answers", PROV.wasGeneratedBy, frozenset((KGB.ToolResult,))),),
            ),
        ),
    ),
    _Branch("evaluations", KGB.dialogue, frozenset((KGB.Evaluation,))),
)


def _properties(branches: Iterable[_Branch]) -> Iterator[str]:
    for branch in branches:
        yield branch.property
        yield from _properties(branch.within)


_BRANCHING = tuple(set(_properties(_BRANCHES)))


def dialogue_tree(quads: Iterable[ox.Quad]) -> str:
    """Return the quads about one dialogue and its parts as one tree, without the context.

    The result equals that of pyld with the frame :data:`DIALOGUE`, as a test verifies. pyld takes
    six times as long, which was a quarter of the time of a publication.
    """
    nodes = expanded(quads)
    (root,) = (node for node in nodes if KGB.Dialogue in node.get("@type", ()))
    tree = _Framing(nodes).tree(root, _BRANCHES, frozenset(), set())
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


class _Framing:
    """Builds trees from nodes in expanded form."""

    def __init__(self, nodes: list[dict[str, Any]]) -> None:
        self._nodes = {node["@id"]: node for node in nodes}
        self._referring: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for node in nodes:
            for name in _BRANCHING:
                for value in node.get(name, ()):
                    self._referring.setdefault((name, value.get("@id", "")), []).append(node)

    def tree(
        self,
        node: dict[str, Any],
        branches: tuple[_Branch, ...],
        above: frozenset[str],
        embedded: set[str],
    ) -> dict[str, Any]:
        """Return a node with the nodes it refers to, and those of ``branches`` that refer to it.

        Nodes ``above`` it, and nodes already ``embedded`` in its branch, are given as references.
        """
        name = node["@id"]
        embedded.add(name)
        above |= {name}
        result = _compacted(node, _short_recorded)
        for predicate, values in node.items():
            if predicate[0] == "@" or predicate in _REFERENCES:
                continue
            if any("@id" in value for value in values):
                objects = [self._value(value, above, embedded) for value in values]
                result[_short_recorded(predicate)] = objects if len(objects) > 1 else objects[0]
        for branch in branches:
            referring = self._referring.get((branch.property, name), ())
            trees = [
                self.tree(other, branch.within, above, set())
                for other in referring
                if not branch.kinds.isdisjoint(other.get("@type", ()))
            ]
            if trees:
                result[branch.term] = trees if len(trees) > 1 else trees[0]
        return result

    def _value(self, value: dict[str, Any], above: frozenset[str], embedded: set[str]) -> Any:
        """Return the tree of a referenced node if it is embedded here, otherwise the reference."""
        name = value.get("@id")
        if name is None or name in above or name in embedded or name not in self._nodes:
            return _short_value(value, _short_recorded)
        return self.tree(self._nodes[name], (), above, embedded)


def node_trees(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Yield each node with its properties, without a context."""
    for node in expanded(quads):
        yield json.dumps(
            _compacted(node, _short_recorded), ensure_ascii=False, separators=(",", ":")
        )


def document(quads: Iterable[ox.Quad]) -> str:
    """Return a small graph as one JSON-LD document, with its context and a line for each node."""
    statements = list(quads)
    terms = Terms()
    terms.add(statements)
    return "".join((terms.opening(), *joined(lines(statements)), CLOSING))


class Terms:
    """Collects the prefixes of a JSON-LD document from its statements."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """Add the prefixes of some statements."""
        for node in expanded(quads):
            self._used.update(
                name.partition(":")[0] for name in _names(_compacted(node, _short_any))
            )

    def opening(self) -> str:
        """Return the beginning of the document, with its context."""
        context = {
            prefix: _ALL_PREFIXES[prefix] for prefix in sorted(self._used & set(_ALL_PREFIXES))
        }
        return f'{{"@context": {json.dumps(context)}, "@graph": [\n'


def lines(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Yield a line of a JSON-LD document for each node."""
    for node in expanded(quads):
        yield json.dumps(_compacted(node, _short_any), ensure_ascii=False)


def joined(nodes: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a JSON-LD document with separators."""
    for number, line in enumerate(nodes):
        yield f",\n{line}" if number else line


def _compacted(node: Mapping[str, Any], short: _Shortening) -> dict[str, Any]:
    """Return a node in expanded form with the prefixes of a context.

    The result equals that of pyld, which takes fifty times as long, because IRIs are the only
    names.
    """
    compacted: dict[str, Any] = {}
    for name, values in node.items():
        if name == "@id":
            compacted[name] = values
        elif name == "@type":
            kinds = [short(kind) for kind in values]
            compacted[name] = kinds if len(kinds) > 1 else kinds[0]
        else:
            objects = [_short_value(value, short) for value in values]
            compacted[short(name)] = objects if len(objects) > 1 else objects[0]
    return compacted


def _short_value(value: dict[str, Any], short: _Shortening) -> Any:
    if "@type" in value:
        return {"@type": short(value["@type"]), "@value": value["@value"]}
    return value["@value"] if len(value) == 1 and "@value" in value else value


def _short(context: Mapping[str, Any], iri: str) -> str:
    """Return ``iri`` with a prefix, if one fits and the result cannot be taken for a URL."""
    for prefix, space in context.items():
        if isinstance(space, str) and iri.startswith(space):
            local = iri[len(space) :]
            return iri if local.startswith("//") else f"{prefix}:{local}"
    return iri


# Cached, because every dialogue has the same few properties, classes and datatypes.
_short_recorded: _Shortening = lru_cache(maxsize=_MOST_KEPT)(partial(_short, CONTEXT))
_short_any: _Shortening = lru_cache(maxsize=_MOST_KEPT)(partial(_short, _ALL_PREFIXES))


def opening(comment: str) -> str:
    """Return the beginning of a list of trees."""
    context = json.dumps({**CONTEXT, "canary": None}, separators=(",", ":"))
    canary = json.dumps({"@id": "urn:canary", "canary": comment})
    return f'{{"@context":{context},"@graph":[\n{canary}'


def expanded(quads: Iterable[ox.Quad]) -> list[dict[str, Any]]:
    """Return quads as nodes in expanded form, without graphs and duplicates."""
    nodes: dict[str, dict[str, Any]] = {}
    seen = set()
    for subject, predicate, value, _ in quads:
        # Strings are compared and hashed faster than terms.
        name, property_iri = _name(subject), predicate.value
        statement = (name, property_iri, value)
        if statement in seen:
            continue
        seen.add(statement)
        node = nodes.get(name)
        if node is None:
            node = nodes[name] = {"@id": name}
        if property_iri == RDF.type:
            node.setdefault("@type", []).append(_name(value))
        else:
            node.setdefault(property_iri, []).append(_value(value))
    return list(nodes.values())


def _names(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names in a node that may have a prefix."""
    for key, values in node.items():
        if key == "@type":
            yield from [values] if isinstance(values, str) else values
        elif key != "@id":
            yield key
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, dict) and "@type" in value:
                    yield value["@type"]


def _name(term: Any) -> str:
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else str(term.value)


def _value(term: Any) -> dict[str, Any]:
    if not isinstance(term, ox.Literal):
        return {"@id": _name(term)}
    if term.language:
        return {"@value": term.value, "@language": term.language}
    datatype = term.datatype.value
    # A string, not a JSON number, to preserve the lexical form.
    return {"@value": term.value} | ({} if datatype == XSD.string else {"@type": datatype})
