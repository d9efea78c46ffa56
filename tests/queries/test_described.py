# SPDX-License-Identifier: Apache-2.0
"""The declared queries: complete, correct descriptions, and safe binding of parameters."""

from __future__ import annotations

import pickle
import re

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench import resources
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.vocab import PREFIXES
from tests.support.analysis_store import iri, small

#: Queries whose optional part has several patterns, but few rows.
FEW = {"cell-answers", "dialogue-scores", "tool-calls"}


def block(body, found):
    """Return the block whose opening brace a match ends with, and the position of its end."""
    depth, end = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(body[end], 0)
        end += 1
    return body[found.end() : end - 1], end


def without_graphs(body):
    """Return the body of a query without its GRAPH blocks."""
    while (found := re.search(r"GRAPH \?\w+ \{", body)) is not None:
        body = body[: found.start()] + body[block(body, found)[1] :]
    return body


def without_comments(query):
    """Return a query from its WHERE on, without comments."""
    text = query.text[query.text.index("WHERE") :]
    return re.sub(r"<[^>]*>", "<>", re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", queries.names())
def test_description_is_complete_and_true(name):
    """A query has a label, a description and keywords, and its parameters occur in its text."""
    query = queries.load(name)
    assert query.label
    assert query.description.endswith(".")
    assert query.keywords
    for parameter in query.parameters:
        assert f"?{parameter.name}" in query.text, f"{parameter.name} does not occur in the text"


@pytest.mark.parametrize("name", queries.names())
def test_query_names_its_graphs(name):
    """Every pattern stands in a GRAPH block, so that all engines search the same graphs."""
    outside = without_graphs(without_comments(queries.load(name)))
    assert not re.search(r"[\w?]\s*[.;]\s", outside), f"a pattern is outside GRAPH: {outside}"


@pytest.mark.parametrize("name", queries.names())
def test_query_of_one_graph_reads_no_other(name):
    """A query about the graph of a parameter makes Oxigraph read no other graph.

    If the block of the graph has more than patterns, an optional part has two patterns, or a path
    has alternatives, it reads all graphs first: a hundred times as long in a store of 90 runs.
    """
    query = queries.load(name)
    body = without_comments(query)
    for parameter in query.parameters:
        for found in re.finditer(rf"GRAPH \?{parameter.name} \{{", body):
            inside, _ = block(body, found)
            assert not re.search(r"OPTIONAL|BIND|UNION|[\w)]\|", inside), inside
    if any(f"GRAPH ?{parameter.name} " in body for parameter in query.parameters):
        several = [
            inside
            for found in re.finditer(r"OPTIONAL \{", body)
            if re.search(r";|\. +\?|FILTER|SELECT|OPTIONAL", inside := block(body, found)[0])
        ]
        assert not several or name in FEW, several


@pytest.mark.parametrize("name", queries.names())
def test_query_does_no_arithmetic_and_is_portable(name):
    """A query uses no sums, no extension functions and no services, and declares its prefixes."""
    query = queries.load(name)
    text = re.sub(r"^\s*#.*$", "", query.text, flags=re.MULTILINE)
    sums = "" if "ready-made" in query.keywords else r"SUM|AVG|xsd:double\(|"
    assert not re.search(rf"\b({sums}SERVICE|LOAD)", text)
    declared = dict(re.findall(r"^PREFIX\s+(\w+):\s+<([^>]+)>", text, flags=re.MULTILINE))
    assert declared.items() <= PREFIXES.items()
    used = set(re.findall(r"(?<![\w:?/<])(\w+):\w", text[text.index("SELECT") :]))
    assert used == set(declared), "prefixes are declared that are not used, or the reverse"


@pytest.mark.parametrize("path", sorted(resources.folder("queries").glob("*.ttl")), ids=str)
def test_every_description_belongs_to_something(path):
    """A Turtle file in the folder describes a query or declares what queries share."""
    described = ox.Store()
    described.bulk_load(path=str(path), format=ox.RdfFormat.TURTLE)
    assert len(described) > 0
    text = path.read_text(encoding="utf-8")
    if "sh:SPARQLExecutable" in text:
        assert path.stem in queries.names()


def test_shared_declarations_are_all_used():
    """Every shared parameter and column is used by a query."""
    loaded = [queries.load(name) for name in (*queries.names(), *queries.constructs())]
    for file, used in (
        ("parameters.ttl", {p.name for q in loaded for p in q.parameters}),
        ("columns.ttl", {c.name for q in loaded for c in q.columns}),
    ):
        text = resources.text("queries", file)
        assert set(re.findall(r'(?:sh|csvw):name "(\w+)"', text)) == used, file


def test_unknown_query_names_those_there_are():
    """A misspelt query name is refused with the nearest name."""
    with pytest.raises(QueryError, match=r"no query 'list-pases': did you mean list-passes"):
        queries.load("list-pases")


def test_unknown_parameter_is_refused():
    """A misspelt parameter is refused, not ignored."""
    with pytest.raises(QueryError, match=r"no parameter 'pas'; there are: .*suite"):
        queries.bind(queries.load("list-passes"), pas="x")


def test_missing_parameter_is_refused():
    """A required parameter must be given."""
    with pytest.raises(QueryError, match="'dialogue-facts' needs a value for 'dialogue'"):
        queries.bind(queries.load("dialogue-facts"))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("list-passes", {"suite": "no iri"}),
        ("list-passes", {"suite": "https://x/> } INSERT <y"}),
        ("list-passes", {"suite": ox.Literal("https://x/")}),
        ("list-passes", {"kind": ox.NamedNode("https://x/")}),
        ("score-histograms", {"passGraph": "urn:g", "metric": "urn:m", "round": "first"}),
        ("score-histograms", {"passGraph": "urn:g", "metric": "urn:m", "latest": "maybe"}),
    ],
)
def test_parameter_of_another_kind_is_refused(name, parameters):
    """A value that does not have the parameter's datatype is refused."""
    with pytest.raises(QueryError, match="must be"):
        queries.bind(queries.load(name), **parameters)


def test_alternatives_become_rows():
    """Several values of several parameters become all combinations in one VALUES block."""
    text = queries.bind(queries.load("list-passes"), kind=["live", "published"], suite="urn:s")
    assert text.count("VALUES") == 1
    assert '("live" <urn:s>) ("published" <urn:s>)' in text


def test_absent_parameters_leave_no_block():
    """Without values, the query is the text of the file without the mark."""
    query = queries.load("list-passes")
    text = queries.bind(query, suite=None)
    assert text == query.text.replace("  # PARAMETERS\n", "\n")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_is_bound_as_itself(value):
    """Any text is bound as one literal and cannot change the query."""
    text = queries.bind(queries.load("list-passes"), kind=value)
    assert list(small().query(text)) == [] or value in ("live", "reevaluation")


def test_known_prefixes_may_be_written():
    """An IRI may be given with one of the common prefixes."""
    text = queries.bind(queries.load("outcome-counts"), passGraph="urn:g", outcome="outcome:empty")
    assert f"<{iri('outcome/empty')}>" in text


def test_a_bound_query_knows_its_name():
    """A bound query keeps its name, also after pickling."""
    text = queries.bind(queries.load("list-passes"), suite="https://example.org/s")
    assert "https://example.org/s" in text
    assert text.name == pickle.loads(pickle.dumps(text)).name == "list-passes"


def test_no_name_stands_for_two_queries():
    """A file name is unique among the folders of queries."""
    found = [
        path.name for name in ("queries", "store") for path in resources.folder(name).glob("*.r?")
    ]
    assert sorted(found) == sorted(set(found))


def test_every_query_has_one_heading_in_the_editor():
    """Six examples come first, and every query is below exactly one heading."""
    topics = queries.by_topic()
    found = [query.name for _, below in topics for query in below]

    assert len(topics[0][1]) == 6
    assert sorted(found) == list(queries.names())
