# SPDX-License-Identifier: Apache-2.0
"""The parts of a server that need none: negotiation, request reading, admission, counting."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgbench.pages import drawing
from kgbench.serve import protocol
from kgbench.serve.admission import admit
from kgbench.serve.negotiation import choose
from kgbench.serve.refusals import Refused
from kgbench.serve.rows import Counter
from kgbench.serve.updates import with_dataset

OFFERED = ["application/json", "text/csv", "text/html"]


@given(st.text(max_size=200))
def test_any_accept_header_has_an_answer(header):
    """Whatever a header says, one of the offers or nothing is chosen."""
    assert choose(header, OFFERED) in (*OFFERED, None)


@given(st.permutations([0.2, 0.5, 0.9]))
def test_the_best_quality_wins(qualities):
    """The offer with the highest quality is chosen, wherever it stands."""
    header = ", ".join(f"{m};q={q}" for m, q in zip(OFFERED, qualities, strict=True))

    assert OFFERED[qualities.index(0.9)] == choose(header, OFFERED)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("text/*;q=0.5, text/csv;q=0", "text/html"),
        ("*/*;q=0.1, text/html", "text/html"),
        ("text/html;level=1;q=0.3, text/csv;q=0.4", "text/csv"),
        ("image/*", None),
        ("TEXT/CSV", "text/csv"),
    ],
)
def test_accept_headers_as_the_standard_reads_them(header, expected):
    """Wildcards, parameters, exclusions and letter case are read as RFC 9110 says."""
    assert expected == choose(header, OFFERED)


@given(
    st.sampled_from(["GET", "POST"]),
    st.binary(max_size=200),
    st.one_of(st.none(), st.text(max_size=60)),
    st.binary(max_size=200),
)
def test_any_request_is_read_or_refused(method, url_query, content_type, sent):
    """No bytes lead to anything but an operation or a refusal of the client's kind."""
    try:
        protocol.read(method, url_query, content_type, sent)
    except Refused as refused:
        assert 400 <= refused.status < 500


@given(st.text(max_size=300))
def test_any_text_is_admitted_or_refused(text):
    """Admission never fails on a text."""
    try:
        admit(text)
    except Refused as refused:
        assert 400 == refused.status


@pytest.mark.parametrize(
    ("query", "bounded"),
    [
        ("SELECT ?p ?o { GRAPH ?g { <http://a/> ?p ?o } }", True),
        ("PREFIX e: <http://e/> SELECT * WHERE { e:x a ?o . }", True),
        ("SELECT ?s { GRAPH <http://g/> { ?s ?p 'x' } } LIMIT 20", True),
        ("SELECT ?s { ?s ?p ?o }", False),
        ("SELECT ?s { GRAPH ?g { ?s ?p ?s } }", False),
        ("SELECT ?s { GRAPH ?g { ?s ?p ?o } } LIMIT 1000", False),
        ("SELECT ?z { GRAPH ?g { ?s ?p ?o } }", False),
        ("SELECT DISTINCT ?s { GRAPH ?g { ?s ?p ?o } }", False),
        ("SELECT ?s { GRAPH ?g { ?s ?p ?o } } ORDER BY ?s", False),
        ("SELECT ?s { GRAPH ?g { ?s ?p ?o . ?o ?q ?r } }", False),
        ("SELECT (COUNT(?s) AS ?n) { GRAPH ?g { ?s ?p ?o } }", False),
        ("SELECT ?s { GRAPH ?g { ?s <http://p/>+ ?o } }", False),
        ("SELECT ?s { GRAPH ?g { ?s ?p ?o FILTER(?o > 1) } }", False),
        ("SELECT ?s FROM <http://g/> { <http://a/> ?p ?s }", False),
    ],
)
def test_only_one_pattern_is_a_look_up(query, bounded):
    """What runs inside the server is one pattern whose rows bound its cost; nothing else does."""
    assert bounded == (admit(query).lookup is not None)


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("ASK {}", "ASK"),
        ("# SELECT\nPREFIX a: <http://a/> BASE <http://b/> construct where {}", "CONSTRUCT"),
        ("DESCRIBE <http://a/>", "DESCRIBE"),
    ],
)
def test_form_is_told_from_the_first_word(query, form):
    """Comments and prologue are passed over."""
    assert form == admit(query).form


VALUES = st.text(st.sampled_from("a\"'\\,{}\r\n\t<>;é"), max_size=8)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=12), st.integers(1, 9))
@example([("", ""), ("", "},{")], 1)
@example([("", "}},{"), ('"}},{', "},{")], 3)
@pytest.mark.parametrize("form", ["json", "xml", "csv", "tsv"])
def test_rows_are_counted_from_bytes(form, rows, size):
    """No text in a row makes the count wrong, wherever the bytes are cut."""
    values = " ".join(f"({ox.Literal(a)} {ox.Literal(b)})" for a, b in rows)
    answer = ox.Store().query(f"SELECT ?x ?y {{ VALUES (?x ?y) {{ {values} }} }}")
    data = answer.serialize(
        format={
            "json": ox.QueryResultsFormat.JSON,
            "xml": ox.QueryResultsFormat.XML,
            "csv": ox.QueryResultsFormat.CSV,
            "tsv": ox.QueryResultsFormat.TSV,
        }[form]
    )
    counter = Counter(form)
    for start in range(0, len(data), size):
        counter.add(data[start : start + size])

    assert len(rows) == counter.rows


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (
            "DELETE { ?s ?p 1 } INSERT { ?s ?p 2 } WHERE { ?s ?p 1 }",
            "DELETE { ?s ?p 1 } INSERT { ?s ?p 2 } USING <g> WHERE { ?s ?p 1 }",
        ),
        ("DELETE WHERE { ?s ?p 1 }", "DELETE { ?s ?p 1 } USING <g> WHERE { ?s ?p 1 }"),
        (
            "INSERT { ?s ?p 1 } WHERE { { SELECT ?s WHERE { ?s ?p 1 } } }",
            "INSERT { ?s ?p 1 } USING <g> WHERE { { SELECT ?s WHERE { ?s ?p 1 } } }",
        ),
        ('INSERT DATA { <s> <p> "WHERE" }', 'INSERT DATA { <s> <p> "WHERE" }'),
    ],
)
def test_dataset_enters_an_update(update, expected):
    """Each operation with a WHERE gets the clauses, nothing else changes."""
    assert expected == with_dataset(update, "USING <g>")


def test_box_and_compass_have_places():
    """Values from 0 to 1 lie inside the drawing, others are not drawn."""
    names = ("minimum", "q1", "median", "q3", "maximum", "mean")
    box = drawing.box(dict(zip(names, (0.0, 0.25, 0.5, 0.75, 1.0, 0.5), strict=True)))

    assert list(box[:5]) == sorted(box[:5])
    assert drawing.box(dict.fromkeys(names, 2.0)) is None
    spokes = drawing.spokes([("a", 1.0), ("b", None), ("c", 0.5)])
    assert 2 == len(drawing.polygon(spokes).split())
    assert json.dumps(spokes)
