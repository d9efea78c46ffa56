# SPDX-License-Identifier: Apache-2.0
"""Trees of dialogues are those of JSON-LD 1.1 Framing, as pyld makes them."""

from __future__ import annotations

import json

import pytest
from pyld import jsonld

from kgbench.publish import framing
from tests.publish.conftest import publish


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ["recorded", "hostile"])
def test_a_tree_is_what_pyld_frames(name, request, tmp_path, monkeypatch):
    """For each dialogue of a publication, pyld with the same frame makes the same tree."""
    seen = []
    make = framing.dialogue_tree

    def told(quads):
        quads = list(quads)
        made = make(quads)
        seen.append((quads, json.loads(made)))
        return made

    monkeypatch.setattr(framing, "dialogue_tree", told)
    clear = frozenset({"llm-kg-bench-3"} if name == "hostile" else ())
    publish(request.getfixturevalue(name), tmp_path / "out", unprotected=clear)

    assert seen
    answered = 0
    for quads, tree in seen:
        framed = jsonld.frame(framing.expanded(quads), dict(framing.DIALOGUE), {"omitGraph": True})
        context = framed.pop("@context")
        assert _unordered(jsonld.expand(tree, {"expandContext": context})) == _unordered(
            jsonld.expand(framed, {"expandContext": context})
        )
        answered += "answers" in json.dumps(tree)
    assert answered


def _unordered(found):
    """The same, with lists in an order that depends on what is in them alone."""
    if isinstance(found, dict):
        return {key: _unordered(value) for key, value in found.items()}
    if isinstance(found, list):
        return sorted(map(_unordered, found), key=lambda one: json.dumps(one, sort_keys=True))
    return found
