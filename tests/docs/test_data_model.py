# SPDX-License-Identifier: Apache-2.0
"""``docs/data-model.md``: its queries have results, and its diagram matches the store."""

import pytest
from typer.testing import CliRunner

from docs.reference_pages import drawing
from kgbench.cli import app
from kgbench.store import open_reader
from kgbench.vocab import DCTERMS, KGB, PROV
from tests import documented

QUERIES = [text for mark, text in documented.blocks(documented.page("data-model.md"))]
PREFIXES = {"kgb": str(KGB), "prov": str(PROV), "dcterms": str(DCTERMS)}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Yield the results of a run with feedback and tools, like those of the quick start."""
    folder = tmp_path_factory.mktemp("model") / "results"
    labels = (
        *("RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle"),
        "Text2SparqlToolsOrganizational-tools",
    )
    words = [word for label in labels for word in ("--task", label)]
    models = ("--model", "baseline:oracle", "--model", "baseline:noisy?rate=0.6&seed=2")
    ran = CliRunner().invoke(
        app, ["run", *words, *models, "--iterations", "4", "--store", str(folder)]
    )
    assert ran.exit_code == 0, ran.output
    with open_reader(str(folder)) as opened:
        yield opened


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_every_query_finds_something(store, number):
    """Each query of the page has rows, and each of its columns has a value."""
    answer = store.query(QUERIES[number])
    names = [variable.value for variable in answer.variables]
    rows = list(answer)

    assert rows
    assert {name for row in rows for name in names if row[name] is not None} == set(names)


def test_the_page_holds_queries_only():
    """The page has no block without a test."""
    marks = {mark for mark, _ in documented.blocks(documented.page("data-model.md"))}

    assert marks == {"sparql"}


def full(name):
    """Return the IRI of a name in the diagram; kgbench's own terms have no prefix."""
    prefix, _, local = name.rpartition(":")
    return f"<{PREFIXES[prefix or 'kgb']}{local}>"


@pytest.mark.parametrize("edge", drawing.RESULT_EDGES, ids=" ".join)
def test_every_arrow_of_the_picture_is_in_a_store(store, edge):
    """Each arrow of the diagram links resources of these classes in some graph."""
    if edge.label == "a metric":
        pattern = f"GRAPH ?g {{ ?s a {full(edge.start)} ; ?metric ?o }} FILTER(ISNUMERIC(?o))"
        metric = f"GRAPH ?c {{ ?metric a {full('Metric')} }}"
        text = f"SELECT * {{ {pattern} {metric} }} LIMIT 1"
    else:
        text = (
            f"SELECT * {{ GRAPH ?g {{ ?s a {full(edge.start)} ; {full(edge.label)} ?o }} "
            f"GRAPH ?h {{ ?o a {full(edge.end)} }} }} LIMIT 1"
        )

    assert list(store.query(text))


def test_every_thing_of_the_picture_has_its_place():
    """Arrows link boxes, and no two boxes have one position."""
    for places, edges in (
        (drawing.RESULT, drawing.RESULT_EDGES),
        (drawing.VOCABULARY, drawing.VOCABULARY_EDGES),
    ):
        assert {end for edge in edges for end in (edge.start, edge.end)} == set(places)
        assert len(set(places.values())) == len(places)
