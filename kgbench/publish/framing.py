# SPDX-License-Identifier: Apache-2.0
"""JSON-LD as trees: framed as in JSON-LD 1.1 Framing, one tree per dialogue.

What a reader follows backwards in the graph stands forwards in the tree: the calls of a dialogue,
the answers of a call, the evaluations of a dialogue. What a tool gave back is the answer to the
call of the tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.vocab import DCTERMS, KGB, PREFIXES, PROV, RDF, XSD

#: What records use; each further prefix makes shortening slower, because it is tried on every name.
_RECORDED = ("kgb", "outcome", "prov", "dcterms", "schema", "rdf", "rdfs", "xsd")
CONTEXT: Mapping[str, Any] = {
    **{prefix: str(PREFIXES[prefix]) for prefix in _RECORDED},
    "parts": {"@reverse": "dcterms:isPartOf"},
    "answers": {"@reverse": "prov:wasGeneratedBy"},
    "toolCalls": {"@reverse": "prov:wasInformedBy"},
    "verdicts": {"@reverse": "prov:wasDerivedFrom"},
    "evaluations": {"@reverse": "kgb:dialogue"},
}
_EVERY = {prefix: str(iri) for prefix, iri in PREFIXES.items()}
_MOST_KEPT = 2_000  # names with their prefixes
_Shortening: TypeAlias = Callable[[str], str]
CLOSING = "\n]}\n"
"""How a JSON-LD document ends."""
_NEVER = {"@embed": "@never"}
#: The frame of a dialogue. What is not framed here stands within what names it, once a branch.
DIALOGUE: Mapping[str, Any] = {
    "@context": dict(CONTEXT),
    "@type": "kgb:Dialogue",
    "@embed": "@once",
    "parts": {
        "@type": "kgb:ModelCall",
        "prov:used": {"prov:wasDerivedFrom": _NEVER},
        "answers": {
            "@type": "kgb:Answer",
            "prov:wasDerivedFrom": _NEVER,
            "verdicts": {
                "@type": ["kgb:Verdict", "kgb:CalibrationVerdict"],
                "prov:wasDerivedFrom": _NEVER,
            },
        },
        "toolCalls": {
            "@type": "kgb:ToolCall",
            "prov:wasInformedBy": _NEVER,
            "answers": {"@type": "kgb:ToolResult"},
        },
    },
    "evaluations": {
        "@type": "kgb:Evaluation",
        "prov:wasDerivedFrom": _NEVER,
        "prov:wasRevisionOf": _NEVER,
    },
}
#: What is only named: it stands elsewhere in the tree, or belongs to another dialogue.
_NAMED = frozenset((PROV.wasDerivedFrom, PROV.wasRevisionOf, PROV.wasInformedBy))


class _Branch(NamedTuple):
    """What a frame asks of nodes that name another: the term, the property, one of their types."""

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
    """The quads about one dialogue and its parts as one tree, without its context.

    It is what pyld makes of them with the frame :data:`DIALOGUE`, which takes six times as long
    and took a quarter of the time of publishing; a test holds both to be equal.
    """
    nodes = expanded(quads)
    (root,) = (node for node in nodes if KGB.Dialogue in node.get("@type", ()))
    tree = _Framing(nodes).tree(root, _BRANCHES, frozenset(), set())
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


class _Framing:
    """Trees of nodes in expanded form."""

    def __init__(self, nodes: list[dict[str, Any]]) -> None:
        self._nodes = {node["@id"]: node for node in nodes}
        self._naming: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for node in nodes:
            for name in _BRANCHING:
                for value in node.get(name, ()):
                    self._naming.setdefault((name, value.get("@id", "")), []).append(node)

    def tree(
        self,
        node: dict[str, Any],
        branches: tuple[_Branch, ...],
        above: frozenset[str],
        there: set[str],
    ) -> dict[str, Any]:
        """A node with the nodes that it names, and those that name it by ``branches``.

        Those ``above`` it, and those ``there`` already in its branch, are only named.
        """
        name = node["@id"]
        there.add(name)
        above |= {name}
        found = _compacted(node, _short_recorded)
        for predicate, values in node.items():
            if predicate[0] == "@" or predicate in _NAMED:
                continue
            if any("@id" in value for value in values):
                whole = [self._value(value, above, there) for value in values]
                found[_short_recorded(predicate)] = whole if len(whole) > 1 else whole[0]
        for branch in branches:
            naming = self._naming.get((branch.property, name), ())
            trees = [
                self.tree(other, branch.within, above, set())
                for other in naming
                if not branch.kinds.isdisjoint(other.get("@type", ()))
            ]
            if trees:
                found[branch.term] = trees if len(trees) > 1 else trees[0]
        return found

    def _value(self, value: dict[str, Any], above: frozenset[str], there: set[str]) -> Any:
        """The tree of what is named, where it is to stand here, else its name alone."""
        name = value.get("@id")
        if name is None or name in above or name in there or name not in self._nodes:
            return _short_value(value, _short_recorded)
        return self.tree(self._nodes[name], (), above, there)


def node_trees(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Each thing with what is said of it, one by one, without a context."""
    for node in expanded(quads):
        yield json.dumps(
            _compacted(node, _short_recorded), ensure_ascii=False, separators=(",", ":")
        )


def document(quads: Iterable[ox.Quad]) -> str:
    """A small graph as one JSON-LD document with its context, and a line for each node."""
    every = list(quads)
    terms = Terms()
    terms.add(every)
    return "".join((terms.opening(), *joined(lines(every)), CLOSING))


class Terms:
    """The prefixes that a JSON-LD document uses, whose statements it sees piece by piece."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """See some of the statements."""
        for node in expanded(quads):
            self._used.update(
                name.partition(":")[0] for name in _names(_compacted(node, _short_any))
            )

    def opening(self) -> str:
        """How the document begins: with its context."""
        context = {prefix: _EVERY[prefix] for prefix in sorted(self._used & set(_EVERY))}
        return f'{{"@context": {json.dumps(context)}, "@graph": [\n'


def lines(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """A line of a JSON-LD document for each node."""
    for node in expanded(quads):
        yield json.dumps(_compacted(node, _short_any), ensure_ascii=False)


def joined(nodes: Iterable[str]) -> Iterator[str]:
    """The lines of a JSON-LD document, with what stands between them."""
    for number, line in enumerate(nodes):
        yield f",\n{line}" if number else line


def _compacted(node: Mapping[str, Any], short: _Shortening) -> dict[str, Any]:
    """A node in expanded form with the prefixes of a context.

    What pyld does as well, and in fifty times the time; there is nothing to choose here.
    """
    found: dict[str, Any] = {}
    for name, values in node.items():
        if name == "@id":
            found[name] = values
        elif name == "@type":
            kinds = [short(kind) for kind in values]
            found[name] = kinds if len(kinds) > 1 else kinds[0]
        else:
            objects = [_short_value(value, short) for value in values]
            found[short(name)] = objects if len(objects) > 1 else objects[0]
    return found


def _short_value(value: dict[str, Any], short: _Shortening) -> Any:
    if "@type" in value:
        return {"@type": short(value["@type"]), "@value": value["@value"]}
    return value["@value"] if len(value) == 1 and "@value" in value else value


def _short(context: Mapping[str, Any], iri: str) -> str:
    """``iri`` with a prefix, where one fits and no reader could take the rest for a scheme."""
    for prefix, space in context.items():
        if isinstance(space, str) and iri.startswith(space):
            local = iri[len(space) :]
            return iri if local.startswith("//") else f"{prefix}:{local}"
    return iri


# Properties, classes and datatypes are few, and each is shortened in every dialogue.
_short_recorded: _Shortening = lru_cache(maxsize=_MOST_KEPT)(partial(_short, CONTEXT))
_short_any: _Shortening = lru_cache(maxsize=_MOST_KEPT)(partial(_short, _EVERY))


def opening(comment: str) -> str:
    """How a list of trees begins."""
    context = json.dumps({**CONTEXT, "canary": None}, separators=(",", ":"))
    said = json.dumps({"@id": "urn:canary", "canary": comment})
    return f'{{"@context":{context},"@graph":[\n{said}'


def expanded(quads: Iterable[ox.Quad]) -> list[dict[str, Any]]:
    """Quads in expanded form, without their graphs, each statement once."""
    nodes: dict[str, dict[str, Any]] = {}
    seen = set()
    for subject, predicate, value, _ in quads:
        # Texts are compared and hashed faster than terms.
        name, said = _name(subject), predicate.value
        statement = (name, said, value)
        if statement in seen:
            continue
        seen.add(statement)
        node = nodes.get(name)
        if node is None:
            node = nodes[name] = {"@id": name}
        if said == RDF.type:
            node.setdefault("@type", []).append(_name(value))
        else:
            node.setdefault(said, []).append(_value(value))
    return list(nodes.values())


def _names(node: Mapping[str, Any]) -> Iterator[str]:
    """The names in a node that may have a prefix."""
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
    # As text, not as a JSON number: so that the lexical form stays.
    return {"@value": term.value} | ({} if datatype == XSD.string else {"@type": datatype})
