# SPDX-License-Identifier: Apache-2.0
"""Publishing gives the same files from memory and from disk, and holds one run at a time."""

from __future__ import annotations

from hashlib import sha256

import pyoxigraph as ox
import pytest

from kgbench.pages.snapshot import MemoryView
from kgbench.publish import large_documents, workers
from kgbench.publish.addresses import Addresses
from kgbench.publish.data_files import encoded
from kgbench.publish.dumps import Packing
from kgbench.publish.folder import STATE, Folder, claim
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.query_texts import CachingStore, QueryRecorder
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.run_cache import CachedQuadRedactor, RunCache
from kgbench.publish.scrubbing import Scrubber
from kgbench.rdf import queries
from kgbench.secrets.publication_key import PublicationKey
from kgbench.vocab import KGB, PROV, RDF, XSD
from tests.publish.checks.published_folder import unpacked
from tests.publish.conftest import publish

pytestmark = pytest.mark.usefixtures("quick")
NAMES = ("one", "two", "catalogue")
ONE, TWO, CATALOGUE = (ox.NamedNode(f"urn:graph:{name}") for name in NAMES)
RULES = RedactionRules(
    RedactionLevel.NONE, Scrubber(), PublicationKey(bytes(32)), RedactionLevel.NONE
)


def _quad(subject, value, graph):
    return ox.Quad(ox.NamedNode(f"urn:{subject}"), ox.NamedNode("urn:p"), ox.Literal(value), graph)


@pytest.fixture
def store():
    """Return two runs and a catalogue; ``both`` is described in the first run and the catalogue."""
    found = ox.Store()
    found.extend(_quad(name, "1", ONE) for name in ("a", "b", "both"))
    found.extend(_quad(name, "2", TWO) for name in ("a", "c"))
    found.extend(_quad(name, "3", CATALOGUE) for name in ("both", "x"))
    return found


def _recorded(store):
    return lambda graph: store.quads_for_pattern(None, None, None, ox.NamedNode(graph))


def test_one_run_is_held_at_a_time(store):
    """The graphs of the next run replace those of the last; shared graphs stay."""
    cache = RunCache(_recorded(store), [CATALOGUE.value])
    for graph in (ONE, TWO, ONE):
        found = cache.hold([graph.value])
        wanted = {q for q in store if q.graph_name in (graph, CATALOGUE)}
        assert set(found.quads.quads_for_pattern(None, None, None)) == wanted
        (groups,) = found.groups.values()
        assert [quad for group in groups for quad in group] == list(_recorded(store)(graph.value))


def test_what_several_graphs_speak_of_is_published_whole(store):
    """A subject in two graphs, or at two places in one, has all its quads."""
    addresses = Addresses("urn:", "urn:")
    apart = [_quad("a", "1", ONE), _quad("b", "1", ONE), _quad("a", "2", ONE)]
    for recorded, graphs in ((_recorded(store), [ONE, TWO]), (lambda _: apart, [ONE])):
        found = RunCache(recorded, [CATALOGUE.value]).hold(graph.value for graph in graphs)
        redactor = CachedQuadRedactor(found, addresses, RULES)
        for graph in graphs:
            list(redactor.graph(graph.value))
        for name in ("a", "b", "both"):
            subject = ox.NamedNode(f"urn:{name}")
            wanted = set(found.quads.quads_for_pattern(subject, None, None))
            assert set(redactor.about(subject)) == wanted


def test_a_large_run_gives_the_same(single, tmp_path, monkeypatch):
    """A run that is read from disk gives the same bytes as one in memory."""
    publish(single, tmp_path / "held", processes=1)
    monkeypatch.setattr(workers, "MOST_DIALOGUES", 0)
    publish(single, tmp_path / "disk", processes=1)

    def files(name):
        every = (tmp_path / name).rglob("*")
        return {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in every
            if path.is_file() and STATE not in path.parts
        }

    assert files("held") == files("disk")


@pytest.mark.parametrize("at_once", [1, 7, 100_000])
def test_a_document_in_pieces_is_as_one_in_memory(tmp_path, monkeypatch, at_once):
    """A document sorted on disk and written in pieces has the same bytes as one in memory."""
    monkeypatch.setattr(large_documents, "_SORTED_AT_ONCE", at_once)
    monkeypatch.setattr(large_documents, "_WRITTEN_AT_ONCE", at_once)
    values = (
        *(ox.Literal("x"), ox.Literal("x", language="en"), ox.Literal('a "b"\n\u2028')),
        ox.Literal("1.5", datatype=ox.NamedNode(XSD.double)),
        *(ox.NamedNode(f"https://example.org/a/{name}") for name in ("1", "2")),
        *(ox.NamedNode(PROV.Collection), ox.NamedNode("urn:x-y:once")),
    )
    quads = [
        ox.Quad(ox.NamedNode(f"https://example.org/doc#{name}"), ox.NamedNode(predicate), value)
        for name in ("c", "a", "b")
        for predicate in (RDF.type, PROV.hadMember, "https://example.org/own/p")
        for value in values
        if predicate != RDF.type or isinstance(value, ox.NamedNode)
    ]
    claim(tmp_path).close()
    folder = Folder(tmp_path)
    lines = list(large_documents.as_lines([*quads, *quads]))
    expected = encoded(sorted(quads, key=str))
    plain, count = large_documents.write_document(folder, "leaderboard/plain", lines)
    assert count == len(quads)
    packing = Packing("zstd", None, "")
    packed, count = large_documents.write_document(folder, "leaderboard/packed", lines, packing)
    assert count == len(quads)
    assert not list(folder.work("x").parent.iterdir())
    folder.close()
    for files, name, suffixes in (
        (plain, "plain", ("",) * 3),
        (packed, "packed", ("", ".zst", ".zst")),
    ):
        assert [file.path for file in files] == [
            f"leaderboard/{name}.{form}{suffix}"
            for form, suffix in zip(expected, suffixes, strict=True)
        ]
        for file, content in zip(files, expected.values(), strict=True):
            data = (tmp_path / file.path).read_bytes()
            assert (file.bytes, file.sha256) == (len(data), sha256(data).hexdigest())
            assert (
                unpacked(tmp_path / file.path) if file.path.endswith(".zst") else data
            ) == content
            assert file.content == sha256(content).hexdigest()


def test_the_catalogue_is_asked_once():
    """Each query of the catalogue runs once, and each table notes all its queries."""

    class Counted(MemoryView):
        def query(self, text):
            asked.append(text.name)
            return super().query(text)

    asked = []
    catalogue = CachingStore(Counted(ox.Store(), "https://example.org/"))
    noted = []
    for _ in range(2):
        recording = QueryRecorder(catalogue)
        assert queries.rows(recording.store(), "list-metrics") == []
        assert list(queries.run(recording.store(), "list-tasks")) == []
        noted.append([text.name for text in recording.queries])
    assert noted == [["list-metrics", "list-tasks"]] * 2
    assert asked == ["list-metrics", "list-tasks"]


def test_a_quoted_triple_is_no_digest():
    """A quoted triple in place of a digest, which only a foreign file can have, is left out."""
    subject, digest = ox.NamedNode("urn:d"), ox.NamedNode(KGB.digest)
    quoted = ox.Triple(subject, digest, ox.Literal("x"))
    kind = ox.Quad(subject, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Dialogue), ONE)
    rules = RULES._replace(level=RedactionLevel.GOLD)
    redactor = QuadRedactor(ox.Store(), Addresses("urn:", "urn:"), rules)
    assert redactor.subject([kind, ox.Quad(subject, digest, quoted, ONE)]) == [kind]
