# SPDX-License-Identifier: Apache-2.0
"""A published folder works on any static host and is consistent Linked Data."""

from __future__ import annotations

import hashlib
import random
import re
import urllib.request
from collections import defaultdict
from urllib.parse import unquote, urldefrag, urljoin

import pyoxigraph as ox
import pytest

from kgbench.publish import front
from kgbench.publish.checks import Verdict, check
from kgbench.rdf import queries
from kgbench.store import open_reader
from kgbench.vocab import BASE as STORE
from kgbench.vocab import DCAT, DCTERMS, KGB, PROV, RDF, SCHEMA, SD, SH, SPDX, VOID
from tests.publish.conftest import BASE, addresses, left_out, publish
from tests.publish.reading import dump, everything, load, page, triples, unpacked
from tests.publish.static import MEDIA, serving
from tests.support.validation import assert_conforms

RECORDED = re.compile(re.escape(STORE) + r"(run|pass|graph|software|analysis|invalidation)/")


def _fetch(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read(), answer.headers["Content-Type"], answer.url


def _media(path):
    name = path.rpartition("/")[2]
    if "." not in name:
        return "text/plain; charset=utf-8" if name else MEDIA[".html"]
    return MEDIA["." + name.rpartition(".")[2]]


def _kind(path):
    """Return a link's kind: the first word of a page's path, else the suffix."""
    name = path.rpartition("/")[2]
    return path.partition("/")[0] if not name else name.rpartition(".")[2]


@pytest.mark.parametrize("name", ["site", "hostile_site"])
def test_no_link_is_dead(name, request):
    """Two hundred links of every kind work and have the right media types."""
    chance = random.Random(8)
    with serving(request.getfixturevalue(name)) as root:
        waiting, seen, kinds = {root: None}, {}, defaultdict(int)
        pages = 0
        while waiting and len(seen) < 200:
            # Rare kinds first, so that all are followed.
            fewest = min(kinds[_kind(url.removeprefix(root))] for url in waiting)
            choices = [u for u in waiting if kinds[_kind(u.removeprefix(root))] == fewest]
            url = chance.choice(choices)
            del waiting[url]
            data, media, at = _fetch(url)
            path = at.removeprefix(root)
            assert media == _media(path), url
            kinds[_kind(url.removeprefix(root))] += 1
            found = page(data.decode("utf-8")) if media == MEDIA[".html"] else None
            seen[url] = None if found is None else found.ids
            pages += found is not None
            for _, link, declared in found.links if found else ():
                target, fragment = urldefrag(urljoin(at, link))
                if not target.startswith(root):
                    assert link.startswith(("https://", "http://")), (url, link)
                    continue
                if declared is not None:
                    assert MEDIA["." + target.rpartition(".")[2]] == declared, (url, link)
                if target in seen and fragment and seen[target] is not None:
                    assert unquote(fragment) in seen[target], (url, link)
                if target not in seen:
                    waiting[target] = None
    assert len(seen) >= 150
    assert pages > 20
    assert len(kinds) > 15


@pytest.mark.parametrize("name", ["site", "hostile_site"])
def test_every_check_passes(name, request):
    """Each link and each IRI below the base leads to a file and a fragment, and all else fits."""
    report = check(request.getfixturevalue(name), unprotected={"llm-kg-bench-3"})
    of_texts = ("privacy", "results")  # the hand-written store has odd ones
    wrong = [entry.name for entry in report.entries if entry.verdict == Verdict.FAILED]
    assert [entry for entry in wrong if entry not in of_texts or name == "site"] == []


def test_dialogue_iris_resolve(site):
    """The IRI of a dialogue leads to its fragment in a page on a plain host."""
    whole = dump(site, "all.nq")
    kind = ox.NamedNode(KGB.Dialogue)
    dialogues = [
        q.subject.value for q in whole.quads_for_pattern(None, ox.NamedNode(RDF.type), kind)
    ]
    assert len(dialogues) == 12
    with serving(site) as root:
        for iri in dialogues:
            document, _, place = iri.removeprefix(BASE).partition("#")
            data, media, _ = _fetch(root + document)
            assert media == MEDIA[".html"]
            assert f'id="{place}"' in data.decode("utf-8")
            data, media, _ = _fetch(f"{root}{document}.ttl")
            assert media == "text/turtle"
            said = {t.subject.value for t in ox.parse(data, ox.RdfFormat.TURTLE)}
            assert {iri, f"{iri}-0-answer"} <= said


def test_all_rdf_parses_and_agrees(site):
    """Both formats of each document have the same triples."""
    found = 0
    for path in site.rglob("*.jsonld"):
        stores = []
        for suffix in (".ttl", ".jsonld"):
            store = ox.Store()
            load(store, path.with_name(path.name.removesuffix(".jsonld") + suffix), base=BASE)
            stores.append(triples(store))
        assert stores[0] == stores[1], path
        found += 1
    assert found > 40


@pytest.mark.parametrize("name", ["site", "hostile_site"])
def test_dumps_agree_and_conform(name, request):
    """The dump of everything has the quads of its parts, and conforms to the shapes."""
    folder = request.getfixturevalue(name)
    whole = dump(folder, "all.nq")
    parts = set()
    for path in (folder / "data").glob("*.nq.*"):
        if path.name.startswith("all."):
            continue
        stem = path.name.partition(".nq.")[0]
        parts |= set(dump(folder, f"{stem}.nq"))
    assert parts == set(whole)
    assert {path.name.partition(".")[2] for path in (folder / "data").iterdir()} == {"nq.zst"}
    for quad in list(whole.quads_for_pattern(None, ox.NamedNode(KGB.declaredDigest), None)):
        if quad.object.value.startswith("9f86d081"):  # of the sample, beside its store's
            whole.remove(quad)
    assert_conforms(whole)


def test_what_is_published_is_what_was_recorded(recorded, site):
    """All needed quads are published, apart from new IRIs and reference answers."""
    found, unneeded = dump(site, "all.nq"), left_out(recorded)

    where = addresses(recorded)

    def moved(term):
        return ox.NamedNode(where.published(term.value)) if isinstance(term, ox.NamedNode) else term

    published = set(found)
    with open_reader(str(recorded)) as store:
        rows = store.query("SELECT ?s ?p ?o ?g WHERE { GRAPH ?g { ?s ?p ?o } }")
        needed = (row for row in rows if unneeded.isdisjoint((row[0].value, row[3].value)))
        stored = {ox.Quad(*map(moved, row)) for row in needed}
    changed = {KGB.caseData, KGB.infos, KGB.digest, KGB.redacted}
    missing = {q for q in stored - published if q.predicate.value not in changed}
    added = {q for q in published - stored if q.predicate.value not in changed}
    assert not missing
    # A store has ends of sessions, not of runs, which can be continued.
    assert {q.predicate.value for q in added} == {KGB.recordedAs, PROV.endedAtTime}


def test_questions_are_published_with_their_texts(site):
    """Dumps, documents of queries and .well-known have each text and name the endpoint."""
    wanted = {queries.load(name).text for name in queries.names()}
    found = dump(site, "all.nq").quads_for_pattern(None, ox.NamedNode(SH.select), None)
    assert {q.object.value for q in found} == wanted
    examples = ox.Store()
    load(examples, site / ".well-known" / "sparql-examples.ttl")
    texts = examples.quads_for_pattern(None, ox.NamedNode(SH.select), None)
    assert {q.object.value for q in texts} == wanted
    targets = examples.quads_for_pattern(None, ox.NamedNode(SCHEMA.target), None)
    assert {q.object.value for q in targets} == {"https://example.org/sparql"}
    assert "SELECT ?model" in (site / ".well-known/sparql-examples/index.html").read_text()


def test_bases_move_and_origins_stay_known(site):
    """Recorded resources move to the new base and state their origin; others keep their IRIs."""
    found = dump(site, "all.nq")
    for quad in found:
        for term in (quad.subject, quad.object, quad.graph_name):
            if isinstance(term, ox.NamedNode) and quad.predicate.value != KGB.recordedAs:
                assert not RECORDED.match(term.value), quad
    kinds = (KGB.Run, KGB.TaskExecution, KGB.EvaluationPass)
    for kind in kinds:
        for quad in found.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(kind)):
            (origin,) = found.quads_for_pattern(quad.subject, ox.NamedNode(KGB.recordedAs), None)
            assert origin.object.value == STORE + quad.subject.value.removeprefix(BASE)
    assert next(found.quads_for_pattern(None, None, ox.NamedNode(KGB.Metric)), None)


@pytest.mark.usefixtures("quick")
def test_same_base_moves_nothing(recorded, tmp_path):
    """At the store's own base, nothing is renamed and nothing has another origin."""
    publish(recorded, tmp_path / "site", base=STORE)
    found = dump(tmp_path / "site", "all.nq")
    assert next(found.quads_for_pattern(None, ox.NamedNode(KGB.recordedAs), None), None) is None


def test_catalogue_describes_the_files(site):
    """Sizes and checksums in DCAT and in SHA256SUMS match the files."""
    catalog = ox.Store()
    load(catalog, site / "catalog.ttl")

    def one(subject, predicate):
        (found,) = catalog.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return found.object

    dataset = ox.NamedNode(BASE + "#dataset")
    assert one(dataset, DCTERMS.license).value == "https://spdx.org/licenses/CC-BY-4.0"
    assert one(dataset, DCAT.version).value == "1"
    assert one(one(dataset, DCTERMS.creator), "http://xmlns.com/foaf/0.1/name").value == (
        "Ada Example"
    )
    assert one(ox.NamedNode(BASE + "#endpoint"), SD.endpoint).value == "https://example.org/sparql"
    paths = set()
    for quad in catalog.quads_for_pattern(dataset, ox.NamedNode(DCAT.distribution), None):
        path = site / one(quad.object, DCAT.downloadURL).value.removeprefix(BASE)
        data = path.read_bytes()
        assert int(one(quad.object, DCAT.byteSize).value) == len(data)
        checksum = one(one(quad.object, SPDX.checksum), SPDX.checksumValue).value
        assert checksum == hashlib.sha256(data).hexdigest()
        paths.add(path)
    assert paths == set((site / "data").iterdir())
    lines = (site / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    for line in lines:
        expected, path = line.split("  ")
        assert hashlib.sha256((site / path).read_bytes()).hexdigest() == expected
    assert {line.split("  ")[1] for line in lines} >= {f"data/{p.name}" for p in paths}


def test_void_counts_what_is_there(site):
    """VoID states the number of statements, in total and for each property."""
    found = ox.Store()
    load(found, site / "void.ttl")
    whole = dump(site, "all.nq")
    dataset = ox.NamedNode(BASE + "#dataset")
    (count,) = found.quads_for_pattern(dataset, ox.NamedNode(VOID.triples), None)
    assert int(count.object.value) == len(whole)
    parts = 0
    for quad in found.quads_for_pattern(dataset, ox.NamedNode(VOID.propertyPartition), None):
        said = {
            q.predicate.value: q.object for q in found.quads_for_pattern(quad.object, None, None)
        }
        uses = whole.quads_for_pattern(None, said[VOID.property], None)
        assert int(said[VOID.triples].value) == sum(1 for _ in uses)
        parts += 1
    assert parts > 40


def test_landing_page_tells_search_engines(site):
    """The embedded schema.org description has the properties for F-UJI and search engines."""
    (found,) = page((site / "index.html").read_text(encoding="utf-8")).scripts
    assert found["@type"] == "Dataset"
    wanted = ("name", "description", "identifier", "license", "creator", "publisher", "version")
    assert all(found[name] for name in wanted)
    assert found["variableMeasured"]
    for one in found["distribution"]:
        path = site / one["contentUrl"].removeprefix(BASE)
        assert one["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_queries_behind_figures_can_be_asked(recorded, site):
    """Each filled query gives the same rows from the dump and from the store.

    Rows about metrics that no run needs are excluded, because such metrics are not published.
    """
    published, unneeded = dump(site, "all.nq"), left_out(recorded)
    where, asked = addresses(recorded), 0

    def moved(term):
        return ox.NamedNode(where.published(term.value)) if isinstance(term, ox.NamedNode) else term

    def is_told(term):
        """Return whether a term is no IRI string: the first of several differs once published."""
        return not (isinstance(term, ox.Literal) and term.value.startswith((BASE, STORE)))

    with open_reader(str(recorded)) as store:
        for path in sorted((site / "queries").glob("*-*.rq")):
            name = re.sub(r"-[0-9a-f]{10}$", "", path.stem)
            if name == path.stem or name not in queries.names():
                continue
            text = path.read_text(encoding="utf-8")
            there = sorted([str(t) for t in row if is_told(t)] for row in published.query(text))
            rows = [
                row
                for row in store.query(text.replace(f"<{BASE}", f"<{STORE}"))
                if unneeded.isdisjoint(getattr(term, "value", "") for term in row)
            ]
            assert there == sorted([str(moved(t)) for t in row if is_told(t)] for row in rows), path
            asked += 1
    assert asked > 10


def test_a_long_table_is_left_to_other_pages(site, recorded, tmp_path, quick, monkeypatch):
    """Where models and tasks have too many scores for one page, it says where they are."""
    table = "<details><summary>Scores by task as a table</summary>"
    whole = (site / "leaderboard" / "index.html").read_text()
    monkeypatch.setattr(front, "_MOST_ROWS", 5)
    publish(recorded, tmp_path / "out")
    short = (tmp_path / "out" / "leaderboard" / "index.html").read_text()
    said = "The table with all scores by task has 6 rows."
    assert (table in whole, said in whole) == (True, False)
    assert (table in short, said in short) == (False, True)


def test_canary_is_in_every_dump(site):
    """Each dump has a canary, so that it can be excluded from training data."""
    canaries = (site / "canary.txt").read_text(encoding="utf-8").split("\n")
    assert canaries[0].startswith("kgbench canary GUID ")
    for path in (site / "data").iterdir():
        assert canaries[0].encode() in unpacked(path), path
    assert "GPTBot" in (site / "robots.txt").read_text(encoding="utf-8")


def test_hostile_texts_stay_texts(hostile_site):
    """No text of a model becomes markup, script or a link on any page."""
    for path, data in everything(hostile_site):
        if path.suffix == ".html" and path.name != "404.html":
            text = data.decode("utf-8")
            assert not re.search(r"<img src=x|<svg onload|<script>", text), path
            assert "\u202e" not in text, path
            links = [link for _, link, _ in page(text).links]
            assert not [link for link in links if link.lower().startswith("javascript:")], path
