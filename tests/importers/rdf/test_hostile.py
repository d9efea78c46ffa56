# SPDX-License-Identifier: Apache-2.0
"""Broken and malicious data sets are refused whole."""

from __future__ import annotations

import gzip

import pyoxigraph as ox
import pytest
import zstandard

from kgbench.errors import ImportRefused
from kgbench.importers.rdf import contents as data_sets
from kgbench.importers.rdf import loading, parsing, sources
from kgbench.net.limits import Budget
from kgbench.store import open_store
from kgbench.vocab import BASE, KGB, PROV, RDF, RDFS, SCHEMA, XSD
from tests.importers.rdf.test_import import dump, node
from tests.support.stores import quads, results_only, typed

METRIC = f"{BASE}metric/RdfFriendCount/4.4/f1"
CATALOGUE = node(f"{BASE}graph/catalogue")


@pytest.fixture(scope="module")
def statements(small):
    """Return the results in the small store, with a few declarations."""
    found = quads(small)
    wanted = (METRIC, KGB.round, f"{BASE}layout", f"{BASE}graph/run/")
    return results_only(found) + [q for q in found if q.subject.value.startswith(wanted)]


@pytest.fixture(scope="module")
def store():
    """Yield an in-memory store that stays empty."""
    with open_store("memory:") as opened:
        yield opened


def take(path, store, budget=None):
    """Import a file."""
    with parsing.scratch_folder() as scratch:
        found = sources.fetch_documents(str(path), scratch, budget=budget)
        contents = data_sets.read(parsing.stage(found.files, scratch, budget))
        return loading.load(store, contents, found.origins, scratch)


def refused(path, store, words, budget=None):
    """Assert that an import is refused with a one-line message and writes nothing."""
    with pytest.raises(ImportRefused, match=words) as why:
        take(path, store, budget)
    assert "\n" not in str(why.value)
    assert store.graphs() == [store.iris.catalogue]


def home(found, subject):
    """Return the graph of a subject."""
    return next(q.graph_name for q in found if q.subject == subject)


def double(value):
    """Return a number as a literal, as for scores."""
    return ox.Literal(value, datatype=node(XSD.double))


def replaced(found, predicate, value, *, of=None):
    """Yield the statements with another value in the first one of a property (and subject)."""
    done = False
    for q in found:
        if not done and q.predicate.value == predicate and of in (None, q.subject):
            done = True
            yield ox.Quad(q.subject, q.predicate, value, q.graph_name)
        else:
            yield q
    assert done


def in_run(found, predicate, value, *, kind=KGB.Run):
    """Return one more statement about a run, or about the first instance of a class."""
    subject = typed(found, kind)
    return ox.Quad(subject, node(predicate), value, home(found, subject))


PAST, FUTURE = (
    ox.Literal(f"{year}-01-01T00:00:00Z", datatype=node(XSD.dateTime)) for year in (1999, 2999)
)
CASES = {
    "another range of a metric": (
        lambda f: [*f, ox.Quad(node(METRIC), node(SCHEMA.maxValue), double("99"), CATALOGUE)],
        "another meaning .*maxValue",
    ),
    "a term of the vocabulary redefined": (
        lambda f: [*f, ox.Quad(node(KGB.round), node(RDFS.range), node(XSD.string), CATALOGUE)],
        "kgb:round another meaning",
    ),
    "a term of ours made a special case of another": (
        lambda f: [
            *f, ox.Quad(node(KGB.task), node(RDFS.subPropertyOf), node(KGB.metric), CATALOGUE),
        ],
        "kgb:task another meaning",
    ),
    "a graph that is said to hold what it does not own": (
        lambda f: [*f, ox.Quad(CATALOGUE, node(KGB.describes), typed(f, KGB.Run), CATALOGUE)],
        "overwrite another graph",
    ),
    "a run described from another graph": (
        lambda f: [
            *f, ox.Quad(typed(f, KGB.Run), node(RDFS.label), ox.Literal("mine"), CATALOGUE),
        ],
        "that only the graph",
    ),
    "a stamp from the future": (
        lambda f: replaced(f, KGB.changeStamp, ox.Literal("9" * 19, datatype=node(XSD.integer))),
        "from the future: 9+; the clock of this computer shows .*: set it",
    ),
    "a time in the future": (
        lambda f: replaced(f, PROV.endedAtTime, FUTURE),
        "in the future or not a time; the clock of this computer shows .*: set it",
    ),
    "a newer layout": (
        lambda f: replaced(f, KGB.layoutVersion, ox.Literal("9", datatype=node(XSD.integer))),
        "layout '9'.*update kgbench",
    ),
    "a score outside its range": (
        lambda f: replaced(f, METRIC, double("7.5")),
        "beyond the range",
    ),
    "a published score outside its range": (
        lambda f: replaced(
            replaced(f, METRIC, double("7.5")), KGB.passKind, ox.Literal("published")
        ),
        "beyond the range",
    ),
    "an undeclared term": (
        lambda f: [*f, in_run(f, KGB["hidden"], ox.Literal("x"))],
        "shapes of results",
    ),
    "an end before its start": (
        lambda f: replaced(f, PROV.endedAtTime, PAST, of=typed(f, KGB.Session)),
        "shapes of results",
    ),
    "a text that is not the one judged": (
        lambda f: replaced(f, PROV.value, ox.Literal("another answer"), of=typed(f, KGB.Text)),
        "not the text whose checksum",
    ),
    "a case that is another one": (
        lambda f: replaced(f, KGB.caseData, ox.Literal('{"n":1}', datatype=node(RDF.JSON))),
        "not the case whose checksum",
    ),
    "an IRI that is none of ours": (
        lambda f: [*f, ox.Quad(node("https://e.org/evil"), node(RDF.type), node(KGB.Run))],
        "not an IRI of kgbench",
    ),
    "a run without an IRI": (
        lambda f: [*f, ox.Quad(ox.BlankNode("r"), node(RDF.type), node(KGB.Run))],
        "has an IRI",
    ),
    "triples as terms": (
        lambda f: [*f, ox.Quad(node("https://e.org/a"), node("https://e.org/b"), f[0].triple)],
        "triple terms",
    ),
    "our terms about what we do not know": (
        lambda f: [*f, ox.Quad(node("https://e.org/a"), node(KGB.round), ox.Literal("x"))],
        "kgb:round has a subject",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_altered_data_are_refused(statements, store, tmp_path, name):
    """Each alteration is refused with a one-line message, and nothing is written."""
    alter, words = CASES[name]

    refused(dump(tmp_path / "a.nq", list(alter(statements))), store, words)


def test_another_record_under_one_iri_is_refused(statements, tmp_path):
    """A run or task with other content under the same IRI is refused; another label is not."""
    with open_store("memory:") as own:
        take(dump(tmp_path / "a.nq", statements), own)
        graphs = own.graphs()
        before = [set(own.triples(graph)) for graph in graphs]
        label = ox.Literal("a better model")
        run, model, task = (typed(statements, k) for k in (KGB.Run, KGB.Model, KGB.Task))
        other = replaced(statements, RDFS.label, label, of=run)
        with pytest.raises(ImportRefused, match="one IRI, two records"):
            take(dump(tmp_path / "b.nq", list(other)), own)
        other = replaced(
            statements, KGB.parameters, ox.Literal("{}", datatype=node(RDF.JSON)), of=task
        )
        with pytest.raises(ImportRefused, match="one IRI, two things"):
            take(dump(tmp_path / "c.nq", list(other)), own)
        take(dump(tmp_path / "d.nq", list(replaced(statements, RDFS.label, label, of=model))), own)

        assert before == [set(own.triples(graph)) for graph in graphs]


DEEP = 6_000
BROKEN = {
    "a.nq": (b"<a:b> <a:c> .", "not N-Quads"),
    "b.nq": (b"", "empty"),
    "c.nq.gz": (gzip.compress(b"<a:b> <a:c> <a:d> .\n" * 9)[:-9], "damaged"),
    "d.nq.gz": (b"no gzip", "damaged"),
    "e.nq.zst": (b"no zstd", "damaged"),
    "n.nq.zst": (zstandard.compress(b"<a:b> <a:c> <a:d> .\n" * 99_999)[:-1], "damaged"),
    "f.zip": (b"PK no zip", "damaged|no RDF file"),
    "g.csv": (b"a,b", "does not show which RDF format"),
    "h.ttl": (b"<relative> <a:c> <a:d> .", "not Turtle"),
    "i.jsonld": (b'{"@context": "https://e.org/c", "@id": "a:b", "name": "x"}', "not JSON-LD"),
    "j.jsonld": (b'{"@id":"a:b","a:c":' * DEEP + b'"x"' + b"}" * DEEP, "nested too deeply"),
    "k.ttl": (b"<a:a> <a:b> " + b"<<( <a:a> <a:b> " * DEEP + b")>>" * DEEP, "not Turtle"),
    "l.rdf": (b'<!DOCTYPE r [<!ENTITY a "aaaa">]><r>&a;</r>', "entities are not resolved"),
    "m.nq": (b'<a:b> <a:c> "x" .\n', "no run, pass or invalidation"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(store, tmp_path, name):
    """Damaged files, files without results and files that attack parsers are refused."""
    content, words = BROKEN[name]
    (tmp_path / name).write_bytes(content)

    refused(tmp_path / name, store, words)


def test_bombs_are_refused(store, tmp_path):
    """A file that unpacks to more than the limit is refused."""
    (tmp_path / "a.nq.gz").write_bytes(gzip.compress(b"<a:b> <a:c> <a:d> .\n" * 100_000))

    refused(tmp_path / "a.nq.gz", store, "more bytes, packed and unpacked", Budget(10**6, 60.0))


def test_documents_that_never_end_are_refused(store, tmp_path, monkeypatch):
    """A document that exceeds the parser's time limit is refused."""
    monkeypatch.setattr(parsing, "SECONDS", 0.0)
    (tmp_path / "a.nq").write_bytes(b"<a:b> <a:c> <a:d> .\n")

    refused(tmp_path / "a.nq", store, "keeps the parser busy")
    refused(tmp_path / "a.nq", store, "raise --seconds", Budget(100, 0.0))


@pytest.mark.parametrize("url", ["ftp://e.org/a.nq", "file:///etc/passwd", "https:///a.nq"])
def test_only_the_web_is_fetched(tmp_path, url):
    """URLs with other schemes than http and https are refused."""
    with pytest.raises(ImportRefused, match="only http and https"):
        sources.fetch_documents(url, tmp_path)


def test_names_and_passwords_in_addresses_are_not_told():
    """An address is recorded without credentials, query and fragment."""
    assert sources._public_url("https://me:pw@e.org/a.nq?key=1#x") == "https://e.org/a.nq"


def test_a_folder_that_was_not_published(tmp_path):
    """A folder that kgbench did not publish is refused."""
    with pytest.raises(ImportRefused, match="not a site that kgbench published"):
        sources.fetch_documents(str(tmp_path), tmp_path)
