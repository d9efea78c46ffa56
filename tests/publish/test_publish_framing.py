# SPDX-License-Identifier: Apache-2.0
"""Trees of dialogues equal the JSON-LD 1.1 frames that pyld makes."""

from __future__ import annotations

import json

import pytest
from pyld import jsonld

from kgbench.publish import framing
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

    def told(quads):
        quads = list(quads)
        made = make(quads)
        seen.append((quads, made))
        return made

    monkeypatch.setattr(framing, "dialogue_tree", told)
    publish(location, folder / "out", unprotected=clear)

    assert seen
    for quads, tree in seen:
        framed = jsonld.frame(framing.expanded(quads), dict(framing.DIALOGUE), {"omitGraph": True})
        context = framed.pop("@context")
        made = jsonld.expand(json.loads(tree), {"expandContext": context})
        assert _unordered(made) == _unordered(jsonld.expand(framed, {"expandContext": context}))
    return [tree for _, tree in seen]


def _unordered(found):
    """Return the value with lists in an order that depends only on their content."""
    if isinstance(found, dict):
        return {key: _unordered(value) for key, value in found.items()}
    if isinstance(found, list):
        return sorted(map(_unordered, found), key=lambda one: json.dumps(one, sort_keys=True))
    return found
