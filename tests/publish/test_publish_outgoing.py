# SPDX-License-Identifier: Apache-2.0
"""Records of earlier versions are published in the present form."""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.publish.addresses import Addresses
from kgbench.publish.published_graph import catalogue
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.scrubbing import Scrubber
from kgbench.publish.selection import PublishedParts
from kgbench.rdf import queries
from kgbench.secrets.commitments import Commitments
from kgbench.vocab import KGB, PROV, RDF, SH, SKOS

RULES = RedactionRules(
    RedactionLevel.NONE, Scrubber(()), Commitments(bytes(32)), RedactionLevel.NONE
)
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
    return {quad.triple for quad in outgoing.about(node)}


def test_origins_that_were_imported_are_named_as_now() -> None:
    """prov:alternateOf of an imported activity is published as kgb:recordedAs."""
    elsewhere = ox.NamedNode("https://elsewhere.example/run/2")
    types = [(RDF.type, ox.NamedNode(one)) for one in (KGB.Run, PROV.Activity)]
    found = published("run/2", *types, (PROV.alternateOf, elsewhere))
    node = ox.NamedNode(f"{BASE}run/2")
    origins = {t.object for t in found if t.predicate == ox.NamedNode(KGB.recordedAs)}
    assert origins == {elsewhere, ox.NamedNode(f"{STORE}run/2")}
    assert {t.subject for t in found} == {node}
    assert not any(t.predicate.value == PROV.alternateOf for t in found)


def test_addresses_with_keys_are_left_out() -> None:
    """A statement whose object is an address with a key is not published."""
    public = ox.NamedNode("https://query.wikidata.org/sparql?format=json")
    secret = ox.NamedNode(f"{public.value}&token=0123456789abcdef0123")
    inside = ox.NamedNode(f"https://query.wikidata.org/sk-proj-{'Ab3' * 10}/sparql")
    said = [(KGB.caseEndpoint, node) for node in (public, secret, inside)]
    found = published("case/1", (RDF.type, ox.NamedNode(KGB.Case)), *said)
    assert {t.object for t in found if t.predicate.value == KGB.caseEndpoint} == {public}


def test_graphs_named_in_stamps_move() -> None:
    """The IRI within a kgb:readStamp is replaced by the published one."""
    stamp = ox.Literal(f"{STORE}graph/pass/1 17")
    kinds = (RDF.type, ox.NamedNode(KGB.Analysis))
    found = published("analysis/1", kinds, (KGB.readStamp, stamp))
    (told,) = (t.object for t in found if t.predicate.value == KGB.readStamp)
    assert told == ox.Literal(f"{BASE}graph/pass/1 17")


def test_older_catalogues_get_texts_and_terms() -> None:
    """A query without text in the store is published with its text, and terms are added as well."""
    graph, query = f"{STORE}graph/catalogue", ox.NamedNode(f"{STORE}query/list-models")
    database = ox.Store()
    for name, value in (
        (RDF.type, ox.NamedNode(SH.SPARQLExecutable)),
        (SH.prefixes, ox.NamedNode(f"{STORE}query/prefixes")),
        (SKOS.notation, ox.Literal("list-models")),
    ):
        database.add(ox.Quad(query, ox.NamedNode(name), value, ox.NamedNode(graph)))
    outgoing = QuadRedactor(database, Addresses(STORE, BASE), RULES)
    none: frozenset[str] = frozenset()
    parts = PublishedParts(graph, (), (), {}, none, none, none, none, partial=False)
    found = {quad.triple for quads in catalogue(outgoing, parts) for quad in quads}
    text = ox.Literal(queries.load("list-models").text)
    assert ox.Triple(query, ox.NamedNode(SH.select), text) in found
    assert ox.NamedNode(KGB.recordedAs) in {triple.subject for triple in found}
