# SPDX-License-Identifier: Apache-2.0
"""Publishing gives the same files from memory and from disk."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.pages.things import View
from kgbench.publish import execution_pages, redact
from kgbench.publish.folder import STATE
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.redact import published_store
from kgbench.publish.redaction import Addresses, RedactionLevel
from kgbench.publish.results import write_document
from kgbench.publish.scrubbing import Scrubber
from kgbench.rdf import queries
from kgbench.store.publication_keys import PublicationKey
from kgbench.vocab import KGB, RDF
from tests.publish.conftest import publish

RULES = RedactionRules(
    RedactionLevel.GOLD, Scrubber(), PublicationKey(bytes(32)), RedactionLevel.GOLD
)


@pytest.mark.usefixtures("quick")
def test_a_large_run_gives_the_same(single, tmp_path, monkeypatch):
    """A run that is read from disk, and in small pieces, gives the same bytes as in memory."""
    publish(single, tmp_path / "held", processes=1)
    monkeypatch.setattr(execution_pages, "MOST_DIALOGUES", 0)
    monkeypatch.setattr(redact, "_QUADS_AT_ONCE", 7)
    publish(single, tmp_path / "disk", processes=1)

    def files(name):
        every = (tmp_path / name).rglob("*")
        return {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in every
            if path.is_file() and STATE not in path.parts
        }

    assert files("held") == files("disk")


def test_a_document_has_each_triple_once(folder):
    """A document is sorted, and its number of triples counts repeated ones once."""
    p, o = ox.NamedNode("urn:p"), ox.NamedNode("urn:o")
    quads = [ox.Quad(ox.NamedNode(f"urn:{name}"), p, o) for name in "cabca"]
    file = write_document(folder, "leaderboard/x.ttl", quads)
    found = list(ox.parse(path=str(folder.path / file.path)))
    assert [str(quad.subject) for quad in found] == ["<urn:a>", "<urn:b>", "<urn:c>"]
    assert file.triples == 3


def test_the_catalogue_is_asked_once(tmp_path, monkeypatch):
    """Each query of the catalogue of a published store runs once."""
    asked = []
    whole = View.query
    monkeypatch.setattr(View, "query", lambda s, text: asked.append(text.name) or whole(s, text))
    (tmp_path / "a.nq").write_text("<urn:a> <urn:b> <urn:c> <urn:g> .\n")
    with published_store([tmp_path / "a.nq"], "https://example.org/") as view:
        for _ in range(2):
            assert queries.rows(view, "list-metrics") == []
            assert list(queries.run(view, "list-tasks")) == []
            list(queries.run(view, "class-partitions"))
    assert asked == ["list-metrics", "list-tasks", "class-partitions", "class-partitions"]


def test_a_quoted_triple_is_no_digest():
    """A quoted triple in place of a digest, which only a foreign file can have, is left out."""
    graph = ox.NamedNode("urn:graph:one")
    subject, digest = ox.NamedNode("urn:d"), ox.NamedNode(KGB.digest)
    quoted = ox.Triple(subject, digest, ox.Literal("x"))
    kind = ox.Quad(subject, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Dialogue), graph)
    redactor = QuadRedactor(ox.Store(), Addresses("urn:", "urn:"), RULES)
    assert redactor.subject([kind, ox.Quad(subject, digest, quoted, graph)]) == [kind]
