# SPDX-License-Identifier: Apache-2.0
"""Mappings are induced from records and a graph, and generate the graph again."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.mapping.execution import execute_mapping
from kgbench.mapping.limits import MappingError
from kgbench.mapping.listings import listings
from kgbench.mapping.sources import Data
from kgbench.plugins.challenges.induction import Induced, induce_rules, mapping, template_text

BOATS = """{"boats": [
    {"no": 7, "name": "Ida", "of": "K/1", "built": "1.50"},
    {"no": 8, "name": "Aal 7", "flag": true, "crew": [1]}
  ], "note": "none", "a b": [{"no": 9}]}"""
CLUBS = """<clubs><club><key>K/1</key><town>Kiel</town></club>
  <club><key>K/2</key><town/></club></clubs>"""
PREFIXES = """@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def triples(text: str) -> list[ox.Triple]:
    """Return the triples of a Turtle document."""
    return [quad.triple for quad in ox.parse(PREFIXES + text, ox.RdfFormat.TURTLE)]


def found(text: str, **files: str) -> tuple[Induced, str]:
    """Return the induced rules and the mapping, which generates all but the unexplained triples."""
    graph = triples(text)
    data = {name.replace("_", "."): of for name, of in files.items()}
    listed = (listings(name, name.split(".")[1], of) for name, of in data.items())
    made = induce_rules(graph, [one for each in listed for one in each])
    written = mapping(made.rules)
    rows = execute_mapping(triples(written), Data(data, {}))
    expected = {tuple(map(str, triple)) for triple in graph if triple not in made.beyond}
    assert rows == expected
    return made, written


def test_values_become_references() -> None:
    """Numbers, strings, decimals, language tags and joined values are found in JSON."""
    made, written = found(
        """<http://e/boat/7> a :Boat ; :no 7 ; :text "7" ; :name "Ida"@de ; :both "Ida: 7" ;
            :built "1.50"^^xsd:decimal .
        <http://e/boat/8> a :Boat ; :no 8 ; :text "8" ; :name "Aal 7"@de ; :both "Aal 7: 8" .""",
        boats_json=BOATS,
    )
    assert made.beyond == frozenset()
    assert {template_text(rule.subject) for rule in made.rules} == {"http://e/boat/{no}"}
    assert {"{name}: {no}", "{built}"} <= {template_text(rule.object) for rule in made.rules}
    assert written.count("a r:TriplesMap") == 1


def test_files_are_linked_by_encoded_keys() -> None:
    """A key that is percent-encoded in IRIs is found, also in XML; empty elements are ignored."""
    made, _ = found(
        """<http://e/boat/7> :of <http://e/club/K%2F1> .
        <http://e/club/K%2F1> a :Club ; :town "Kiel" . <http://e/club/K%2F2> a :Club .""",
        boats_json=BOATS,
        clubs_xml=CLUBS,
    )
    assert made.beyond == frozenset()
    assert [rule.listing.iterator for rule in made.rules if rule.is_type] == ["/clubs/club"]


def test_the_listing_with_fewest_idle_records_is_chosen() -> None:
    """Of two files with the same keys, the one with one record per resource is chosen."""
    links = json.dumps({"links": [{"to": 1}, {"to": 1}, {"to": 2}]})
    things = json.dumps({"things": [{"id": 1}, {"id": 2}]})
    made, _ = found(
        "<http://e/1> a :Thing . <http://e/2> a :Thing .", links_json=links, things_json=things
    )
    assert [rule.listing.file for rule in made.rules] == ["things.json"]


def test_what_follows_from_no_record_is_told() -> None:
    """Parts of words, unknown values, and triples whose rule would add others are unexplained."""
    made, _ = found(
        """<http://e/boat/7> :name "Ida" ; :part "Id" ; :other "Emma" ; :class :Small .
        <http://e/boat/8> :name "Aal 7" .
        <http://e/boat/8> :no 8 . _:b :name "Ida" .""",
        boats_json=BOATS,
    )
    left = {triple.predicate.value.removeprefix("http://e/") for triple in made.beyond}
    assert left == {"part", "other", "class", "no", "name"}
    assert len(made.beyond) == 5
    assert [template_text(rule.object) for rule in made.rules] == ["{name}"]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", "{"),
        ("json", "[" * 100_000),
        ("xml", "<a>"),
        ("xml", '<!DOCTYPE a [<!ENTITY b "c">]><a><d><e>&b;</e></d></a>'),
    ],
)
def test_files_that_cannot_be_read_are_refused(form: str, text: str) -> None:
    """A damaged file and a file with entities are refused by name."""
    with pytest.raises(MappingError, match=rf"^odd\.{form} cannot be read: "):
        listings(f"odd.{form}", form, text)


def test_other_documents_have_no_listings() -> None:
    """A top-level array and an object without arrays have no records."""
    assert listings("a.json", "json", '[{"a": 1}]') == []
    assert listings("a.json", "json", '{"a": 1}') == []
    assert listings("a.xml", "xml", '<a xmlns="urn:b"><c><d>1</d></c></a>') == []


def test_values_that_are_several_are_no_single_texts() -> None:
    """An element that is repeated, or that has child elements, is not a value of its record."""
    text = "<a><b><c>1</c><c>2</c><d><e>3</e></d><f>4</f></b></a>"
    (listing,) = listings("a.xml", "xml", text)
    assert listing.records == ({"f": "4"},)
