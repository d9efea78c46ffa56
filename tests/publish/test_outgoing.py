# SPDX-License-Identifier: Apache-2.0
"""Statements that leave a store: none reveals a key, a path or a name."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from kgbench.publish.addresses import Addresses
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.scrubbing import Scrubber
from kgbench.secrets.detection import SecretDetector
from kgbench.secrets.publication_key import PublicationKey
from kgbench.vocab import KGB, PROV, RDF, RDFS, XSD

RULES = RedactionRules(
    RedactionLevel.NONE, Scrubber(()), PublicationKey(bytes(32)), RedactionLevel.NONE
)
SECRET = "a+key/with=signs"
ANY_URI = ox.NamedNode(XSD.anyURI)
STORE, BASE = "https://w3id.org/kgbench/", "https://example.org/bench/"


def published(subject: str, *said: tuple[str, ox.NamedNode | ox.Literal]) -> set[ox.Triple]:
    """Return the published triples about a subject (relative to the base of the store)."""
    node = ox.NamedNode(STORE + subject)
    database = ox.Store()
    database.extend(
        ox.Quad(node, ox.NamedNode(name), value, ox.NamedNode(f"{STORE}graph/{subject}"))
        for name, value in said
    )
    outgoing = QuadRedactor(database, Addresses(STORE, BASE), RULES)
    quads = list(database.quads_for_pattern(node, None, None))
    return {quad.triple for quad in outgoing.subject(quads)}


def test_addresses_with_keys_are_left_out() -> None:
    """A statement whose object is an address with a key is not published."""
    public = ox.NamedNode("https://query.wikidata.org/sparql?format=json")
    secret = ox.NamedNode(f"{public.value}&token=0123456789abcdef0123")
    inside = ox.NamedNode(f"https://query.wikidata.org/sk-proj-{'Ab3' * 10}/sparql")
    said = [(KGB.caseEndpoint, node) for node in (public, secret, inside)]
    found = published("case/1", (RDF.type, ox.NamedNode(KGB.Case)), *said)
    assert {t.object for t in found if t.predicate.value == KGB.caseEndpoint} == {public}


REVEALING = (
    f"https://example.org/sk-proj-{'Ab3' * 10}/x",
    f"{STORE}thing/sk-proj-{'Ab3' * 10}",
    f"{STORE}thing/{SECRET.replace('+', '%2B')}",
    f"{STORE}thing/%2Fhome%2Fann%2Fx",
    "urn:x:/home/ann/x",
    "http://gpu-7:8000/v1",
    "https://dragonhost.uni-leipzig.de/v1",
    "file:///srv/x",
)


@pytest.mark.parametrize("iri", REVEALING)
@pytest.mark.parametrize("position", range(6))
def test_no_iri_of_a_statement_reveals_anything(iri: str, position: int) -> None:
    """Keys, hosts, paths and names are searched for in subject, predicate, object and graph.

    Datatypes and addresses as literals are searched, too.
    """
    node, revealing = ox.NamedNode(f"{STORE}case/1"), ox.NamedNode(iri)
    values = {4: ox.Literal("x", datatype=revealing), 5: ox.Literal(iri, datatype=ANY_URI)}
    terms: list[Any] = [node, ox.NamedNode(PROV.used), values.get(position, node), node]
    if position < len(terms):
        terms[position] = revealing
    database = ox.Store()
    database.add(ox.Quad(*terms))
    scrubber = Scrubber(["dragonhost"], SecretDetector([SECRET]))
    outgoing = QuadRedactor(database, Addresses(STORE, BASE), RULES._replace(scrubber=scrubber))
    assert list(outgoing.graph(terms[3].value)) == []


def test_names_in_public_iris_remain() -> None:
    """The name of a machine may be a word of the vocabulary or of a public address."""
    scrubber = Scrubber(["dragonhost"])
    for host in ("w3id.org/kgbench", "github.com"):
        assert scrubber.revealed(f"https://{host}/dragonhost") is None


def test_texts_of_other_datatypes_are_scrubbed() -> None:
    """A text with the datatype of others keeps it, and is searched as plain texts are."""
    datatype = ox.NamedNode("https://example.org/Note")
    found = published("case/1", (RDFS.comment, ox.Literal("in /home/ann/x", datatype=datatype)))
    assert [t.object for t in found] == [ox.Literal("in [path]", datatype=datatype)]
