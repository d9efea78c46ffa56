# SPDX-License-Identifier: Apache-2.0
"""Parts of the server without a server: negotiation, parsing, admission, counting."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgbench.pages import rendering
from kgbench.serve import requests
from kgbench.serve.admission import Refused, admit
from kgbench.serve.formats import Format, negotiate
from kgbench.serve.requests import is_deeper, with_dataset
from kgbench.serve.worker import Counter

MEDIA = ("application/json", "text/csv", "text/html")
OFFERED = tuple(Format(media, (media,)) for media in MEDIA)


@given(st.permutations([0.2, 0.5, 0.9]))
def test_the_best_quality_wins(qualities):
    """The offer with the highest quality is chosen, at any position."""
    header = ", ".join(f"{m};q={q}" for m, q in zip(MEDIA, qualities, strict=True))

    assert OFFERED[qualities.index(0.9)] == negotiate(header, OFFERED)


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
        ("nothing that names a type, */csv, text/", "application/json"),
        ("text/csv;q=much, text/html", "text/html"),
        ("text/csv;q=2, text/html;q=0.1", "text/html"),
        ("text/csv;q=nan, text/html;q=0.1", "text/html"),
    ],
)
def test_accept_headers_as_the_standard_reads_them(header, expected):
    """Wildcards, parameters, exclusions and letter case follow RFC 9110.

    Invalid parts are ignored.
    """
    chosen = negotiate(header, OFFERED)
    assert expected == (chosen and chosen.media)


@given(
    st.sampled_from(["GET", "POST"]),
    st.binary(max_size=200),
    st.one_of(st.none(), st.text(max_size=60)),
    st.binary(max_size=200),
)
def test_any_request_is_read_or_refused(method, url_query, content_type, sent):
    """Any bytes lead to an operation or to a client error."""
    try:
        requests.parse_request(method, url_query, content_type, sent)
    except Refused as refused:
        assert 400 <= refused.status < 500


@pytest.mark.parametrize(
    ("media", "url_query", "sent", "status", "words"),
    [
        (requests.FORM, b"query=ASK{}", b"query=ASK{}", 400, "in the form only"),
        (requests.FORM, b"update=DROP+ALL", b"query=ASK{}", 400, "in the form only"),
        (requests.FORM, b"", b"query=ASK{}&update=DROP+ALL", 400, "in the form only"),
        (requests.FORM, b"", b"format=csv", 400, "neither a query nor an update"),
        (requests.FORM, b"", b"query=%ff", 400, "the form is not URL-encoded UTF-8"),
        (requests.QUERY, b"query=ASK{}", b"ASK {}", 400, "in the body only"),
        (requests.UPDATE, b"update=DROP+ALL", b"DROP ALL", 400, "in the body only"),
        (requests.QUERY, b"", b"ASK {\xff}", 400, "the body is not UTF-8 at byte 5"),
        (requests.QUERY, b"", b"ASK {\0}", 400, "the query contains a NUL character"),
        (requests.UPDATE, b"using-graph-uri=no+iri", b"DROP ALL", 400, "is not an IRI"),
        (requests.QUERY, b"named-graph-uri=", b"ASK {}", 400, "is not an IRI"),
        (f"{requests.QUERY}; charset*{'9' * 5_000}=x", b"", b"ASK {}", 415, "send UTF-8"),
    ],
)
def test_what_can_be_no_operation_says_why(media, url_query, sent, status, words):
    """Ambiguous, missing and unreadable operations are refused with the reason."""
    with pytest.raises(Refused, match=words) as refused:
        requests.parse_request("POST", url_query, media, sent)
    assert status == refused.value.status


@given(st.text(max_size=300))
def test_any_text_is_admitted_or_refused(text):
    """Any text is admitted or refused with 400, and any Accept header has an answer or none."""
    assert negotiate(text, OFFERED) in (*OFFERED, None)
    try:
        admit(text)
    except Refused as refused:
        assert 400 == refused.status


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("ASK {}", "ASK"),
        ("# SELECT\nPREFIX a: <http://a/> BASE <http://b/> construct where {}", "CONSTRUCT"),
        ("DESCRIBE <http://a/>", "DESCRIBE"),
        *((f"PREFIX e: <http://e/> {word} {{}}", None) for word in ("INSERT DATA", "drop all")),
        ("PREFIX e: <http://e/> WITH <http://a/> DELETE {}", None),
    ],
)
def test_form_is_told_from_the_first_word(query, form):
    """The form is found after comments and prologue; an update is to be sent as one."""
    if form is not None:
        assert form == admit(query).form
        return
    with pytest.raises(Refused, match=r"(INSERT|DROP|WITH) changes data: send it as an update"):
        admit(query)


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
        ("SELECT ?s { GRAPH ?g { ?s ?p true } }", False),
        ("SELECT ?s { GRAPH ?g { ?s ?p", False),
        (f"SELECT ?o {{ <http://a/{'b' * 500}> ?p ?o }}", True),
        (f"SELECT ?o {{ <http://a/{'b' * 2_000}> ?p ?o }}", False),
    ],
)
def test_only_one_pattern_is_a_look_up(query, bounded):
    """A look-up is a single pattern whose cost is bounded by its rows."""
    assert bounded == (admit(query).lookup is not None)


LITERALS = (
    *("'1 << 2'", '"<<("', "'''it's <<\n<<'''", '"""a ""<<" <<( """', "'\\'<<'", "'<<'@en-gb"),
    *("<urn:x#'>", "<urn:y>", "e:it\\'s", "e:x\\#", "7 # it's <<\n"),
)


@given(st.lists(st.sampled_from(LITERALS), max_size=6), st.integers(1, 4))
def test_depth_is_that_of_triple_terms_only(objects, depth):
    """Brackets within strings, IRIs, names and comments do not count as nesting."""
    nested = "<<( e:s e:p " * depth + "1" + " )>>" * depth
    text = "@prefix e: <urn:e:> . e:s e:p " + " , ".join([*objects, nested, *objects]) + " ."
    graph = ox.parse(text.encode(), ox.RdfFormat.TURTLE)

    assert depth == max(levels(triple) for triple in graph)
    assert is_deeper(text.encode(), depth - 1, json=False)
    assert not is_deeper(text.encode(), depth, json=False)


def levels(term):
    """Return the depth of nested triple terms in the object of a triple."""
    return 1 + levels(term.object) if isinstance(term.object, ox.Triple) else 0


@pytest.mark.parametrize(
    ("text", "deeper"),
    [(b"[[], [], []]", False), (b"]]]}}[[", False), (b"[[[", True), (b'["[[", {"[": "]"}]', False)],
)
def test_depth_of_json_is_that_of_open_brackets(text, deeper):
    """Sibling brackets add no depth, and surplus closing brackets are ignored."""
    assert deeper is is_deeper(text, 2, json=True)


VALUES = st.text(st.sampled_from("a\"'\\,{}\r\n\t<>;é"), max_size=8)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=12), st.integers(1, 9))
@example([("", ""), ("", "},{")], 1)
@example([("", "}},{"), ('"}},{', "},{")], 3)
@pytest.mark.parametrize("form", ["json", "xml", "csv", "tsv"])
def test_rows_are_counted_from_bytes(form, rows, size):
    """Rows are counted correctly for any text and any division of the bytes."""
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
        ("DELETE WHERE { ?s ?p 1", "DELETE { ?s ?p 1 USING <g> WHERE { ?s ?p 1"),
    ],
)
def test_dataset_enters_an_update(update, expected):
    """Each operation with a WHERE gets the clauses, and nothing else changes."""
    assert expected == with_dataset(update, "USING <g>")


def test_box_and_compass_have_places():
    """Values from 0 to 1 are inside the drawing; others are not drawn."""
    names = ("minimum", "q1", "median", "q3", "maximum", "mean")
    box = rendering.box(dict(zip(names, (0.0, 0.25, 0.5, 0.75, 1.0, 0.5), strict=True)))

    assert list(box[:5]) == sorted(box[:5])
    assert rendering.box(dict.fromkeys(names, 2.0)) is None
    spokes = rendering.spokes([("a", 1.0), ("b", None), ("c", 0.5)])
    assert rendering.outline(spokes).count("M") == 2
    assert not rendering.outline(spokes).endswith("Z")
    assert rendering.outline(rendering.spokes([("a", 1.0), ("b", 0.2), ("c", 0.5)])).endswith("Z")
    assert json.dumps(spokes)
