# SPDX-License-Identifier: Apache-2.0
"""Trees of dialogues equal the JSON-LD 1.1 frames that pyld makes."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from pyld import jsonld

from kgbench.publish import framing
from kgbench.vocab import RDF, XSD
from tests.publish.conftest import publish


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ["recorded", "hostile"])
def test_a_tree_is_what_pyld_frames(name, request, tmp_path, monkeypatch):
    """For each dialogue of a publication, pyld makes the same tree with the same frame."""
    clear = frozenset({"llm-kg-bench-3"} if name == "hostile" else ())
    trees = assert_framed(monkeypatch, request.getfixturevalue(name), tmp_path, clear)
    assert any("answers" in tree for tree in trees)


def assert_framed(monkeypatch, location, folder, clear):
    """Publish a store, compare all trees of dialogues with those of pyld, and return the trees."""
    seen = []
    make = framing.dialogue_tree

    def told(statements):
        made = make(statements)
        seen.append((statements, made))
        return made

    monkeypatch.setattr(framing, "dialogue_tree", told)
    publish(location, folder / "out", unprotected=clear)

    assert seen
    for statements, tree in seen:
        nodes = [_expanded(node, properties) for node, properties in statements.items()]
        framed = jsonld.frame(nodes, dict(framing.DIALOGUE), {"omitGraph": True})
        context = framed.pop("@context")
        made = jsonld.expand(json.loads(tree), {"expandContext": context})
        assert _unordered(made) == _unordered(jsonld.expand(framed, {"expandContext": context}))
    return [tree for _, tree in seen]


def _expanded(node, properties):
    """Return a node in the expanded form of JSON-LD."""
    found = {"@id": node}
    for predicate, terms in properties.items():
        if predicate == RDF.type:
            found["@type"] = [term.value for term in terms]
        else:
            found[predicate] = [_value(term) for term in terms]
    return found


def _value(term):
    if isinstance(term, ox.NamedNode):
        return {"@id": term.value}
    assert isinstance(term, ox.Literal)
    if term.language:
        return {"@value": term.value, "@language": term.language}
    if term.datatype.value == XSD.string:
        return {"@value": term.value}
    return {"@value": term.value, "@type": term.datatype.value}


def _unordered(found):
    """Return the value with lists in an order that depends only on their content."""
    if isinstance(found, dict):
        return {key: _unordered(value) for key, value in found.items()}
    if isinstance(found, list):
        return sorted(map(_unordered, found), key=lambda one: json.dumps(one, sort_keys=True))
    return found
