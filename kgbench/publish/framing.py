# SPDX-License-Identifier: Apache-2.0
"""JSON-LD as trees: framed by pyld (JSON-LD 1.1 Framing), one tree per dialogue.

What a reader follows backwards in the graph stands forwards in the tree: the calls of a dialogue,
the answers of a call, the evaluations of a dialogue.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from kgbench.vocab import PREFIXES, RDF, XSD

_NEVER = {"@embed": "@never"}
CONTEXT: Mapping[str, Any] = {
    **{prefix: str(iri) for prefix, iri in PREFIXES.items()},
    "parts": {"@reverse": "dcterms:isPartOf"},
    "answers": {"@reverse": "prov:wasGeneratedBy"},
    "evaluations": {"@reverse": "kgb:dialogue"},
}
_DIALOGUE = {
    "@context": dict(CONTEXT),
    "@type": "kgb:Dialogue",
    "@embed": "@once",
    "parts": {
        "@type": "kgb:ModelCall",
        "prov:used": {"prov:wasDerivedFrom": _NEVER},
        "answers": {"@type": "kgb:Answer", "prov:wasDerivedFrom": _NEVER},
    },
    "evaluations": {"@type": "kgb:Evaluation", "prov:wasDerivedFrom": _NEVER},
}


def dialogue_tree(quads: Iterable[ox.Quad]) -> str:
    """The quads about one dialogue and its parts as one tree, without its context."""
    from pyld import jsonld

    tree = jsonld.frame(expanded(quads), _DIALOGUE, {"omitGraph": True})
    tree.pop("@context", None)
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def node_trees(quads: Iterable[ox.Quad]) -> Iterable[str]:
    """Each thing with what is said of it, one by one, without a context."""
    from pyld import jsonld

    context = {"@context": dict(CONTEXT)}
    for node in expanded(quads):
        tree = jsonld.compact([node], context)
        tree.pop("@context", None)
        yield json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def document(quads: Iterable[ox.Quad]) -> str:
    """A small graph as one JSON-LD document with its context."""
    from pyld import jsonld

    context = {prefix: str(iri) for prefix, iri in PREFIXES.items()}
    nodes = expanded(quads)
    used = {
        p for p, iri in context.items() if any(iri in name for n in nodes for name in _names(n))
    }
    found = jsonld.compact(nodes, {"@context": {p: context[p] for p in sorted(used)}})
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def opening(comment: str) -> str:
    """How a list of trees begins."""
    context = json.dumps({**CONTEXT, "canary": None}, separators=(",", ":"))
    said = json.dumps({"@id": "urn:canary", "canary": comment})
    return f'{{"@context":{context},"@graph":[\n{said}'


def expanded(quads: Iterable[ox.Quad]) -> list[dict[str, Any]]:
    """Quads in expanded form, without their graphs, each statement once."""
    nodes: dict[str, dict[str, Any]] = {}
    seen = set()
    for quad in quads:
        if quad.triple in seen:
            continue
        seen.add(quad.triple)
        subject = _name(quad.subject)
        node = nodes.setdefault(subject, {"@id": subject})
        if quad.predicate.value == RDF.type:
            node.setdefault("@type", []).append(_name(quad.object))
        else:
            node.setdefault(quad.predicate.value, []).append(_value(quad.object))
    return list(nodes.values())


def _names(node: Mapping[str, Any]) -> Iterable[str]:
    for key, values in node.items():
        yield key
        for value in values if isinstance(values, list) else [values]:
            yield from (
                (str(v) for k, v in value.items() if k != "@value")
                if isinstance(value, dict)
                else [str(value)]
            )


def _name(term: Any) -> str:
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else str(term.value)


def _value(term: Any) -> dict[str, Any]:
    if not isinstance(term, ox.Literal):
        return {"@id": _name(term)}
    if term.language:
        return {"@value": term.value, "@language": term.language}
    datatype = term.datatype.value
    # As text, not as a JSON number: so that the lexical form stays.
    return {"@value": term.value} | ({} if datatype == XSD.string else {"@type": datatype})
