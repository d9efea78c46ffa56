# SPDX-License-Identifier: Apache-2.0
"""Triple terms in results are written with their brackets and compared as strings."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.execution.engines import engine
from kgbench.policies.results import from_json, to_json
from kgbench.policies.values import Term, by_value, format_term, parse_term
from kgbench.rdf.quads import OPENS, to_ntriples
from kgbench.testing.judging import PlainExecutor

GRAPH = (
    "PREFIX : <urn:> :r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> "
    "<<( :a :b <<( _:n :c 'x'@ar--rtl )>> )>> ."
)
TERM = '<<( <urn:a> <urn:b> <<( _:b0 <urn:c> "x"@ar--rtl )>> )>>'
QUERY = "SELECT ?t { ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> ?t }"


def test_results_have_brackets():
    """A cell is a term of N-Triples 1.2; blank nodes in it are renamed like others."""
    (cell,) = engine("oxigraph").results(QUERY, GRAPH, {}).rows[0]

    assert cell == TERM
    assert to_json(from_json(to_json(engine("oxigraph").results(QUERY, GRAPH, {}))))["results"] == {
        "bindings": [{"t": {"type": "triple", "value": TERM}}]
    }


@pytest.mark.parametrize("executor", [engine("oxigraph"), PlainExecutor()])
def test_changes_have_brackets(executor):
    """An added triple with a triple term as its object is a row that can be parsed."""
    update = "PREFIX : <urn:> INSERT DATA { :s :p <<( :a :b :c )>> }"
    (row,) = executor.changes(update, GRAPH, {}).rows

    assert row[3] == "<<( <urn:a> <urn:b> <urn:c> )>>"
    assert list(ox.parse(f"{' '.join(row[1:4])} .", ox.RdfFormat.N_TRIPLES))


@pytest.mark.parametrize(
    ("string", "short"),
    [
        ('"""x"""', '"x"'),
        ("'''say \"x\"'''@en", r'"say \"x\""@en'),
        ('"""a\n\\"b\\" "c" \\\\"""', r'"a\n\"b\" \"c\" \\"'),
        ('"""2"""^^<urn:d>', '"2"^^<urn:d>'),
    ],
)
def test_long_strings_in_triple_terms(string, short):
    """Turtle 1.2 allows long strings in triple terms and reified triples; Oxigraph does not."""
    for text in ("<urn:r> <urn:p> <<( <urn:a> <urn:b> {} )>> .", "<< <urn:a> <urn:b> {} >> ."):
        parsed, expected = (
            engine("oxigraph").parse(text.format(form), "turtle") for form in (string, short)
        )
        assert parsed == expected
        assert parsed.error is None


@pytest.mark.parametrize("reifier", ["~ []", "~[ ]", "~ # one\n [ # two\n ]"])
@pytest.mark.parametrize(
    "text",
    [
        "<urn:a> <urn:b> <urn:c> {} .",
        "<urn:a> <urn:b> <urn:c> {} {{| <urn:p> [] |}} .",
        "<< <urn:a> <urn:b> '''x''' {} >> <urn:d> \"~ []\" .",
    ],
)
def test_anonymous_nodes_as_reifiers(text, reifier):
    """Turtle 1.2 allows them, as it allows no name; Oxigraph does not."""
    parsed, expected = (engine("oxigraph").parse(text.format(r), "turtle") for r in (reifier, "~"))
    assert parsed == expected
    assert parsed.error is None


def test_errors_after_long_strings_in_triple_terms():
    """The message is about the first real error."""
    text = '<urn:r> <urn:p> <<( <urn:a> <urn:b> """x""" )>> ;\n <urn:q> """y""" <urn:z> .'

    assert engine("oxigraph").parse(text, "turtle").error.startswith("line 2, ")


def test_deep_terms_are_written_without_recursion():
    """A triple term of any depth is written without recursion."""
    term: object = ox.NamedNode("urn:a")
    for _ in range(1_500):
        term = ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), term)

    assert to_ntriples(term).count(OPENS) == 1_500


def test_values_of_triple_terms_are_the_terms():
    """Two triple terms have the same value if they are written alike, unlike a blank node."""
    other = TERM.replace("rtl", "ltr")

    assert parse_term(TERM) == Term("triple", TERM)
    assert format_term(parse_term(TERM)) == TERM
    assert by_value(TERM) == TERM != by_value(other)
    assert by_value("_:b0") == by_value("_:b1") != by_value(TERM)
