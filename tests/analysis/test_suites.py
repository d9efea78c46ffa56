# SPDX-License-Identifier: Apache-2.0
"""What an analysis is about that names no suite, or a side of a comparison by any of its names."""

from __future__ import annotations

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.matching import select_sides, sides
from kgbench.errors import QueryError
from kgbench.scores.selection import default_suite, select
from tests.support.analysis_store import altered, iri, small

SMALL, OTHER = iri("suite/small"), iri("suite/other")


@pytest.fixture(scope="module")
def store():
    """Return the small store, with a newer run of another suite by a third model and model B."""
    return altered(
        """PREFIX dcterms: <http://purl.org/dc/terms/> PREFIX prov: <http://www.w3.org/ns/prov#>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        INSERT DATA {
            GRAPH <graph/catalogue> {
                <graph/run/r2> a kgb:ResultGraph ; kgb:describes <run/r2> .
                <graph/pass/p3> a kgb:ResultGraph ; kgb:describes <pass/p3> .
                <suite/other> a kgb:Suite ; skos:notation "other" .
                <model/hub> a kgb:Model ; skos:notation "org/hub-7b" .
            }
            GRAPH <graph/run/r2> {
                <run/r2> a kgb:Run ; rdfs:label "other" ; kgb:suite <suite/other> ;
                    prov:startedAtTime "2026-11-21T10:00:00Z"^^xsd:dateTime .
                <run/r2/model-b> a kgb:TaskExecution ; dcterms:isPartOf <run/r2> ;
                    kgb:model <model/model-b> .
                <run/r2/hub> a kgb:TaskExecution ; dcterms:isPartOf <run/r2> ;
                    kgb:model <model/hub> .
            }
            GRAPH <graph/pass/p3> {
                <pass/p3> a kgb:EvaluationPass ; kgb:passKind "live" ; prov:wasInformedBy <run/r2> ;
                    prov:startedAtTime "2026-11-21T10:00:00Z"^^xsd:dateTime .
            }
        }"""
    )


@pytest.mark.parametrize(
    ("models", "suite"),
    [
        ("*", OTHER),  # of the newest run
        ("model-a", SMALL),
        ("Model A", SMALL),
        (("model-a", "model-b"), SMALL),  # the only one that they share
        ("model-*", SMALL),
        ("model-b", OTHER),  # it has dialogues in both
        (("hub-7b", "Model B"), OTHER),  # by the name that tables show
        (("model-a", "org/hub-7b"), OTHER),  # none is shared
        ("no-such-model", OTHER),
    ],
)
def test_models_that_share_one_suite_choose_it(store, models, suite):
    """Without a suite, the only one in which all chosen models have dialogues counts."""
    assert default_suite(store, models) == suite
    assert select(store, models=models).suite == suite


def test_a_named_suite_run_or_pass_comes_first(store):
    """What is named decides, whatever suite the models share."""
    assert select(store, "other", models="model-a").suite == OTHER
    assert select(store, run="r2", models="model-a").suite == OTHER
    assert select(store, pass_=iri("pass/p3"), models="model-a").suite == OTHER


def test_compared_models_choose_their_suite(store):
    """A comparison reads the suite that its models share."""
    *_, selection = select_sides(store, "model-a", "model-b")
    assert selection.suite == SMALL


def test_several_models_are_selected_together(store):
    """Each of several globs selects its models, and one without any is refused."""
    both = leaderboard(store, select(store, models=["Model A", "model-b"]))
    assert sorted(map(str, both.column("model"))) == ["Model A", "Model B"]
    assert both.context["model"] == "Model A, model-b"
    alone = leaderboard(store, select(store, "small", models=["model-b"]))
    assert list(map(str, alone.column("model"))) == ["Model B"]
    with pytest.raises(QueryError, match="no model matches 'nobody'"):
        leaderboard(store, select(store, "small", models=["model-a", "nobody"]))


@pytest.mark.parametrize("name", ["model-a", "*-a", "Model?A", "Model A", "mod*[a]"])
def test_sides_have_short_names_and_globs(name):
    """A glob, an identifier or a display name names the only side that it matches."""
    assert sides(small(), name, "model-b")[0].name == "Model A"
    with pytest.raises(QueryError, match=r"'model-\*' is ambiguous"):
        sides(small(), "model-*", "model-b")
    with pytest.raises(QueryError, match=r"no model, run or pass 'x-\*'"):
        sides(small(), "x-*", "model-b")


def test_only_like_things_are_compared():
    """Unknown names, mixed kinds and ambiguous prefixes are refused with the choices."""
    with pytest.raises(QueryError, match=r"no model, run or pass 'nobody'.*Model A, Model B"):
        sides(small(), "model-a", "nobody")
    with pytest.raises(QueryError, match="is a model and 'p1' a pass"):
        sides(small(), "model-a", "p1")
    with pytest.raises(QueryError, match="'p' is ambiguous"):
        sides(small(), "p", "p1")
