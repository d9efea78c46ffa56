# SPDX-License-Identifier: Apache-2.0
"""``kgbench import rdf``: imported results are equal to results measured here."""

from __future__ import annotations

import gzip
import json

import pyoxigraph as ox
import pytest
import pyzipper
import zstandard

from kgbench.cli.import_ import rdf
from kgbench.errors import ImportRefused, StoreError
from kgbench.importers.rdf import contents as data_sets
from kgbench.importers.rdf import parsing, sources
from kgbench.importers.rdf.sorting import sort
from kgbench.record import reading
from kgbench.store import open_reader, open_store
from kgbench.store.embedded import EmbeddedStore
from kgbench.vocab import BASE, KGB, PROV, RDF, XSD
from tests.publish.static import serving
from tests.support.commands import printed as call
from tests.support.stores import quads, results_only, typed
from tests.support.validation import assert_conforms

DUMP = "data/all.nq.zst"


def node(iri):
    """Return an IRI as a node."""
    return ox.NamedNode(iri)


def dump(path, found, rdf_format=ox.RdfFormat.N_QUADS):
    """Write quads to a file and return its path; RDF/XML has no graphs."""
    content = (q.triple for q in found) if rdf_format == ox.RdfFormat.RDF_XML else found
    path.write_bytes(ox.serialize(content, format=rdf_format))
    return path


def taken(*arguments, store):
    """Import data and return the report."""
    return json.loads(call("import", "rdf", *arguments, "--store", store, "--json"))


def leaderboard(store):
    """Return the rows of the leaderboard of a store."""
    return json.loads(call("analyze", "leaderboard", "--store", store, "--format", "json"))["rows"]


def results(location):
    """Return the quads of runs and passes."""
    return {q for q in quads(location) if "/graph/run/" in str(q.graph_name)} | {
        q for q in quads(location) if "/graph/pass/" in str(q.graph_name)
    }


@pytest.fixture(scope="module")
def published(small, tmp_path_factory):
    """Return a file with the results of the small store, as N-Quads."""
    found = results_only(quads(small))
    return dump(tmp_path_factory.mktemp("published") / "all.nq", found)


def test_another_store_has_the_same_results(small, tmp_path):
    """Runs and passes are imported statement by statement; the leaderboard is the same."""
    said = taken(dump(tmp_path / "all.nq", quads(small)), store=tmp_path / "store")

    assert (len(said["runs"]), len(said["passes"])) == (1, 1)
    assert results(small) == results(tmp_path / "store")
    assert leaderboard(small) == leaderboard(tmp_path / "store")
    with open_reader(str(tmp_path / "store")) as store:
        assert_conforms(store)


def test_importing_again_changes_nothing(published, tmp_path):
    """A second import of the same file changes nothing."""
    taken(published, store=tmp_path / "store")
    before = set(quads(tmp_path / "store"))
    again = taken(published, store=tmp_path / "store")

    assert (again["runs"], again["described"], len(again["there"])) == ([], 0, 2)
    assert before == set(quads(tmp_path / "store"))


def test_results_of_two_groups_are_analysed_together(small, published, tmp_path):
    """Models of an imported run are ranked with those of a run measured here."""
    place = tmp_path / "store"
    call("run", "--store", place, "-m", "baseline:silent", "-t", "RdfFriendCount-turtle-1")
    taken(published, store=place)

    assert len(leaderboard(place)) == 3


def test_rdf_xml_brings_the_same(published, tmp_path):
    """Statements are assigned to graphs by subject; a property has the other syntaxes."""
    found = list(ox.parse(path=str(published), format=ox.RdfFormat.N_QUADS))

    assert staged(dump(tmp_path / "a.rdf", found, ox.RdfFormat.RDF_XML)) == staged(published)


def staged(path, password=None):
    """Return the statements that an import finds in a file, by graph."""
    with parsing.scratch_folder() as scratch:
        documents = sources.fetch_documents(str(path), scratch, password).files
        contents = data_sets.read(parsing.stage(documents, scratch))
        with open_store("memory:") as store:
            recorded = sort(store, contents, scratch / "recorded").recorded
        return {
            target.graph: {
                quad.triple
                for quad in recorded.quads_for_pattern(None, None, None, ox.NamedNode(target.graph))
            }
            for target in contents.imported
        }


@pytest.mark.parametrize("end", [".gz", ".zst", ".zip"])
def test_compressed_dumps(published, tmp_path, end):
    """gzip, Zstandard in several frames, and zip with AES are unpacked."""
    content = published.read_bytes()
    path = tmp_path / f"all.nq{end}"
    if end == ".gz":
        path.write_bytes(gzip.compress(content))
    elif end == ".zst":
        half = len(content) // 2
        path.write_bytes(b"".join(map(zstandard.compress, (content[:half], content[half:]))))
    else:
        _encrypt(path, content)

    assert staged(path, "open sesame") == staged(published)


def test_the_password_comes_from_the_environment(published, tmp_path):
    """KGBENCH_ARCHIVE_PASSWORD opens an encrypted archive and is never printed."""
    path = _encrypt(tmp_path / "all.nq.zip", published.read_bytes())
    secret = {"KGBENCH_ARCHIVE_PASSWORD": "open sesame"}
    said = call("import", "rdf", path, "--store", tmp_path / "store", env=secret)
    with pytest.raises(ImportRefused, match="is encrypted: give --password"):
        call("import", "rdf", path, "--store", tmp_path / "store")
    with pytest.raises(ImportRefused, match="the password is wrong"):
        call("import", "rdf", path, "--store", tmp_path / "store", "--password", "abracadabra")

    assert "imported 1 run, 1 pass" in said
    assert "sesame" not in said


def _encrypt(path, content):
    with pyzipper.AESZipFile(path, "w", encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(b"open sesame")
        archive.writestr("all.nq", content)
    return path


def test_where_it_came_from_is_recorded(published, tmp_path):
    """An import records its times, its sources and their checksums."""
    said = taken(published, store=tmp_path / "store")
    found = quads(tmp_path / "store")
    activity = typed(found, KGB.Import)
    about = {q.predicate.value: q.object for q in found if q.subject == activity}
    (digest,) = [
        q.object.value
        for q in found
        if q.predicate == node(KGB.sourceDigest) and "/import/" in q.subject.value
    ]

    assert {PROV.startedAtTime, PROV.endedAtTime, PROV.used, PROV.generated} <= about.keys()
    assert digest == said["sources"][0]["digest"]
    assert str(tmp_path) not in str(found)


def test_foreign_terms_are_kept(published, tmp_path):
    """Statements with foreign terms are kept in the graph of the import."""
    found = list(ox.parse(path=str(published), format=ox.RdfFormat.N_QUADS))
    run = typed(found, KGB.Run)
    extra = [
        ox.Quad(run, node("https://example.org/likes"), ox.Literal("rain"), node("https://x.y/g")),
        ox.Quad(node("https://example.org/d"), node(RDF.type), node("http://www.w3.org/ns/dcat#Dataset")),
        ox.Quad(ox.BlankNode("b"), node("https://example.org/p"), run),
    ]  # fmt: skip
    said = taken(dump(tmp_path / "a.nq", [*found, *extra]), store=tmp_path / "store")
    kept = [q for q in quads(tmp_path / "store") if "/import/" in str(q.graph_name)]
    kept = [q for q in kept if "example.org" in str(q)]

    assert said["foreign"] == len(kept) == 3
    assert {q.graph_name.value.split("/graph/")[1].split("/")[0] for q in kept} == {"import"}


def test_removed_texts_are_accepted(published, tmp_path):
    """A text that was left out of a publication is accepted."""
    found = []
    for quad in ox.parse(path=str(published), format=ox.RdfFormat.N_QUADS):
        if quad.predicate.value == PROV.value and "/text/" in quad.subject.value:
            yes = ox.Literal("true", datatype=node(XSD.boolean))
            found.append(ox.Quad(quad.subject, node(KGB.redacted), yes, quad.graph_name))
        else:
            found.append(quad)
    taken(dump(tmp_path / "a.nq", found), store=tmp_path / "store")

    assert len(leaderboard(tmp_path / "store")) == 2


def moved(found, base):
    """Yield quads as they are published under another base."""

    def under(term):
        recorded = ("run/", "pass/", "graph/", "software/", "analysis/")
        if isinstance(term, ox.NamedNode) and term.value.startswith(
            tuple(BASE + name for name in recorded)
        ):
            return node(base + term.value.removeprefix(BASE))
        return term

    for q in found:
        yield ox.Quad(under(q.subject), q.predicate, under(q.object), under(q.graph_name))
        if q.object in (node(KGB.Run), node(KGB.EvaluationPass)):
            here = ox.Quad(under(q.subject), node(KGB.recordedAs), q.subject, under(q.graph_name))
            yield here


def test_results_of_another_base_can_be_judged_again(small, tmp_path):
    """A re-evaluation of a run with another base belongs to it and agrees with its first pass."""
    path = dump(tmp_path / "a.nq", moved(quads(small), "https://example.org/bench/"))
    (run,) = taken(path, store=tmp_path / "store")["runs"]
    said = json.loads(call("reevaluate", "--store", tmp_path / "store", "--json"))
    with open_reader(str(tmp_path / "store")) as store:
        (info,) = reading.runs(store)
        kinds = [one.kind for one in reading.passes(store, info)]
        assert_conforms(store)

    assert said["dialogues_differing"] == []
    assert (info.iri, kinds) == (run, ["live", "reevaluation"])


@pytest.fixture(scope="module")
def published_site(small, tmp_path_factory):
    """Return the small store, published under another base."""
    place = tmp_path_factory.mktemp("site") / "site"
    base = "https://example.org/bench/"
    call("publish", "--store", small, "--out", place, "--base", base, "--processes", "1")
    return place


@pytest.fixture
def site(published_site, tmp_path):
    """Return a copy of the files that an import reads in a published folder."""
    place = tmp_path / "site"
    (place / "data").mkdir(parents=True)
    for name in (DUMP, "SHA256SUMS"):
        (place / name).write_bytes((published_site / name).read_bytes())
    return place


def test_a_published_folder(published_site, small, tmp_path):
    """A folder with another base is imported whole, and not into the store that recorded it."""
    (run,) = taken(published_site, store=tmp_path / "store")["runs"]
    assert run.startswith("https://example.org/bench/run/")
    assert leaderboard(small) == leaderboard(tmp_path / "store")
    with open_reader(str(tmp_path / "store")) as store:
        assert_conforms(store)

    taken(dump(tmp_path / "b.nq", quads(small)), store=tmp_path / "own")
    again = taken(published_site, store=tmp_path / "own")
    assert [len(again[kind]) for kind in ("runs", "elsewhere")] == [0, 2]


def test_a_wrong_checksum_is_refused(site, tmp_path):
    """A changed dump is refused."""
    with (site / DUMP).open("ab") as file:
        file.write(b"\n# altered\n")

    with pytest.raises(ImportRefused, match=r"the checksum does not match"):
        taken(site, store=tmp_path / "store")


def test_a_site_on_the_web(site, tmp_path):
    """A whole site or one of its dumps is fetched from a URL."""
    with serving(site) as address:
        whole = taken(address, store=tmp_path / "store")
        again = taken(f"{address}{DUMP}", store=tmp_path / "store")
        with pytest.raises(ImportRefused, match="404"):
            taken(f"{address}none.nq", store=tmp_path / "store")

    assert (len(whole["runs"]), len(again["there"])) == (1, 2)


def test_a_run_that_was_continued_grows(small, tmp_path):
    """A later dump of the same run adds its new statements."""
    found = quads(small)
    run_graph = next(q.graph_name for q in found if "/graph/run/" in str(q.graph_name))
    last = typed(found, KGB.Dialogue).value
    gone = {q for q in found if last in str(q.subject) or last in str(q.object)}
    gone |= {q for q in found if last.partition("/run/")[2].partition("/")[2] in str(q.subject)}
    earlier = dump(tmp_path / "1.nq", [q for q in found if q not in gone])
    taken(earlier, store=tmp_path / "store")
    said = taken(dump(tmp_path / "2.nq", found), store=tmp_path / "store")

    assert run_graph.value.replace("/graph/", "/") in said["grown"]
    assert results(small) == results(tmp_path / "store")


def test_an_import_that_breaks_off_leaves_nothing(published, tmp_path, monkeypatch):
    """An interrupted import leaves nothing visible, and the next one is complete."""

    def break_off(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedStore, "write", break_off)
        with pytest.raises(KeyboardInterrupt):
            rdf([str(published)], store=str(tmp_path / "store"))
    with pytest.raises(StoreError, match="there is no store"):
        open_reader(str(tmp_path / "store"))
    taken(published, store=tmp_path / "store")

    assert len(leaderboard(tmp_path / "store")) == 2
