# SPDX-License-Identifier: Apache-2.0
"""Sentences about syntax errors: the position and the nearest name, with each engine's position."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.rdf.query_text import KNOWN_PREFIXES, explain_error, with_known_prefixes
from kgbench.serve.admission import Refused
from kgbench.serve.requests import Operation, RawRequest, operation, prepare_update

BASE = "https://example.org/"


def said(text: str) -> str:
    """Return the sentence about a query with a syntax error."""
    query = with_known_prefixes(text)
    with pytest.raises(SyntaxError) as error:
        ox.Store().query(query)
    return explain_error(text, str(error.value), preamble=query.removesuffix(text))


LONG = f"<http://example.org/{'long' * 10}>"


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("SELECT * { ?s foa:name ?o }", (1, 15), "prefix foa: is not declared: did you mean foaf?"),
        ("SELECT * {\n  ?s kgb:x 1 ; kgbb:y 2 }", (2, 16), "did you mean kgb?"),
        ("PREFIX rdf: <urn:r>\nASK { ?s rdf:a ex:b }", (2, 16), "prefix ex: is not declared"),
        ("SELECT * { ?s a 'x'^^xs:string }", (1, 22), "did you mean xsd?"),
        ("SELECT * { ?s ?p ?o OPTINAL { ?s ?q 1 } }", (1, 21), "did you mean OPTIONAL?"),
        ("SELECT (STRLENN(?o) AS ?n) { ?s ?p ?o }", (1, 9), "did you mean STRLEN?"),
        ("SELECT ?s { ?s ?p ?o } ORDERED BY ?s", (1, 24), "'ORDERED' is no word of SPARQL"),
        ("SELECT * { ?s kgb:p ?o", (1, 23), "syntax error after 'SELECT * { ?s kgb:p ?o'"),
        (f"ASK {{ ?s ?p {LONG}", (1, 74), f"syntax error after '{LONG}'"),
        ("SELECT * { # no foo:bar here\n ?s a }", (2, 7), "syntax error after '?s a'"),
    ],
)
def test_the_first_mistake_is_named(text, position, problem):
    """An undeclared prefix or unknown word is named where it is; else the engine's position."""
    line, column = position
    sentence = said(text)

    assert sentence.startswith(f"the query is not SPARQL: line {line}, column {column}: ")
    assert problem in sentence


def test_known_prefixes_are_declared_once():
    """Known prefixes get a declaration if the query uses them and has none of its own."""
    assert with_known_prefixes("ASK { ?s a foaf:Agent }") == (
        f"PREFIX foaf: <{KNOWN_PREFIXES['foaf']}> ASK {{ ?s a foaf:Agent }}"
    )
    own = "PREFIX kgb: <urn:own:> ASK { ?s a kgb:x, other:y }"
    assert with_known_prefixes(own) == own


def test_positions_in_updates_are_those_of_the_text():
    """An update knows the same prefixes, and what is put before it does not count."""
    text = "INSERT DATA { <urn:a> dcterms:title 'x' } ;\nDELETE WHERE { ?s foaff:name ?o }"
    request = RawRequest("POST", b"", "application/sparql-update", text.encode(), may_write=True)
    expected = "the update is not SPARQL: line 2, column 19: prefix foaff: is not"
    with pytest.raises(Refused, match=expected):
        operation(request, BASE)
    ox.Store().update(prepare_update(Operation("update", text.partition(";")[0]), BASE))


def test_messages_of_other_engines_stay():
    """A message without a position is kept, unless a mistake is found without it."""
    assert explain_error("SELECT * {}", "the server has no memory") == "the server has no memory"
    assert "column 17: prefix x:" in explain_error(
        "SELECT * { ?s a x:y }", "Unresolved prefixed name"
    )
