# SPDX-License-Identifier: Apache-2.0
"""``kgbench models``: the models of a store and the published facts about them."""

from __future__ import annotations

import pytest

from kgbench.errors import QueryError
from kgbench.scores.catalogue import records
from kgbench.store import Block, open_store
from tests.serve import stores
from tests.support.commands import printed, reported


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store with the models of two runs; one of them has published facts."""
    place = stores.make(tmp_path_factory.mktemp("models") / "store")
    iri = "<https://w3id.org/kgbench/model/gpt-4o-mini-2024-07-18>"
    with open_store(str(place)) as opened:
        about = [
            f"{iri} a <https://w3id.org/kgbench/ns#Model> .",
            f'{iri} <http://www.w3.org/2004/02/skos/core#notation> "gpt-4o-mini-2024-07-18" .',
            f'{iri} <http://www.w3.org/2000/01/rdf-schema#label> "mini\\u001b[31m" .',
        ]
        opened.write([Block(opened.iris.catalogue, about)])
    return str(place)


def test_every_model_is_listed_with_what_is_known(store):
    """The list has each model once, with the facts of the record that matches its identifier."""
    found = {one["id"]: one for one in reported("models", "list", "--store", store)}

    assert len(found) == 4
    known = next(r for r in records() if r.label == "ChatGPT 4o-mini")
    mini = found["gpt-4o-mini-2024-07-18"]
    assert (mini["family"], mini["context"], mini["licence"]) == (
        known.family,
        known.context,
        known.license,
    )
    assert mini["released"] == known.released.isoformat()
    assert mini["parameters"] is None
    assert {one["family"] for name, one in found.items() if name != mini["id"]} == {None}


def test_a_glob_chooses_by_name_or_id(store):
    """A glob selects models by name or id; without a match the command is refused."""
    (one,) = reported("models", "list", "gpt-*", "--store", store)
    assert one["id"] == "gpt-4o-mini-2024-07-18"

    with pytest.raises(QueryError, match="no model of the store fits nope"):
        printed("models", "list", "nope", "--store", store)


def test_the_table_has_a_line_for_each_model(store):
    """The table shows names and facts, and no name can send terminal escapes."""
    said = printed("models", "list", "--store", store)

    assert "OpenAI-GPT" in said
    assert "2024-07-18" in said
    assert "\x1b" not in said


def test_a_model_is_shown_with_all_that_is_stated(store):
    """A model is shown with every statement of the catalogue, then the published facts."""
    said = printed("models", "show", "gpt-4o-mini-2024-07-18", "--store", store)
    whole = reported("models", "show", "gpt-4o-mini-2024-07-18", "--store", store)

    assert "rdf:type" in said
    assert "kgb:Model" in said
    assert "context                  128000" in said
    assert "\x1b" not in said
    assert whole["stated"]["http://www.w3.org/2004/02/skos/core#notation"] == [whole["id"]]
    assert whole["published"]["family"] == "OpenAI-GPT"


def test_an_unknown_model_is_refused_with_those_there_are(store):
    """An unknown model is refused with the names of the store's models."""
    with pytest.raises(QueryError, match=r"there are: Oracle, Parrot"):
        printed("models", "show", "nope", "--store", store)
