# SPDX-License-Identifier: Apache-2.0
"""The documents beside the dumps: their shapes, and how machines find them."""

from __future__ import annotations

import shutil

import pyoxigraph as ox
import pytest

from kgbench.publish.checks import shapes
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.signing import Signer
from kgbench.record import reading
from kgbench.store import open_reader
from kgbench.vocab import DCAT, DCTERMS, FOAF, KGB, PROV, QB, RDF, RDFS, SEC, SPDX, VOID, compact
from tests.publish.conftest import BASE, addresses, command, hasten, publish
from tests.support.validation import report

TABLES = "leaderboard/kgbench-1"


@pytest.fixture(scope="module")
def signed(recorded, tmp_path_factory):
    """Return a publication in its second version, signed by the second key of its signer."""
    keys = tmp_path_factory.mktemp("keys")
    command("keys", "new", keys / "k")
    command("keys", "new", keys / "next", "--after", keys / "k")
    command("keys", "revoke", keys / "next", keys / "k.pub", "--reason", "lost")
    out = tmp_path_factory.mktemp("signed") / "bench"
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        publish(recorded, out, signer=Signer.read(keys / "next", out))
    return out


def stated(site, *names):
    """Return the triples of documents, without the graphs of proofs."""
    found = ox.Store()
    for name in names:
        for quad in ox.parse(path=str(site / name)):
            found.add(ox.Quad(quad.subject, quad.predicate, quad.object))
    return found


def values(store, subject, prop):
    """Return the values of a property."""
    node = ox.NamedNode(subject) if isinstance(subject, str) else subject
    return [quad.object for quad in store.quads_for_pattern(node, ox.NamedNode(prop), None)]


def iris(store, subject, prop):
    """Return the values of a property as strings."""
    return {one.value for one in values(store, subject, prop)}


def names(site):
    """Return all documents that the shapes of companions describe."""
    found = ["claims.ttl", "keys.jsonld", "signature.jsonld"]
    found += [
        path.relative_to(site).as_posix()
        for folder in ("claims", "signed")
        for path in (site / folder).glob("*/*")
    ]
    return found


def test_documents_conform_to_their_shapes(signed):
    """Neither the shapes nor the check of a publication find a violation."""
    whole = stated(signed, *names(signed))
    kinds = {
        quad.object.value for quad in whole.quads_for_pattern(None, ox.NamedNode(RDF.type), None)
    }
    wanted = {KGB.Claim, SEC.Multikey, SEC.DataIntegrityProof}
    assert wanted <= kinds
    assert report(whole, "companions") == []
    with PublicationFiles([signed]) as published:
        assert list(shapes.companions(published)) == []


@pytest.mark.parametrize(
    ("kind", "prop", "instead"),
    [
        (KGB.Claim, KGB.model, None),
        (KGB.Claim, PROV.wasDerivedFrom, None),
        (KGB.Claim, KGB["count"], ox.Literal(0)),
        (KGB.Claim, KGB.estimand, None),
        (KGB.Claim, RDFS.label, None),
        (SEC.Multikey, SEC.publicKeyMultibase, ox.Literal("z6Mk")),
        (SEC.Multikey, DCTERMS.created, None),
        (SEC.Multikey, SEC.controller, None),
        (SEC.DataIntegrityProof, SEC.cryptosuite, ox.Literal("eddsa-jcs-2022")),
        (SEC.DataIntegrityProof, SEC.proofValue, None),
        (None, KGB.fileDigest, ox.Literal("0")),
        (None, KGB.canonicalDigest, None),
        (None, SEC.assertionMethod, ox.NamedNode("urn:stranger")),
        (None, FOAF.primaryTopic, None),
    ],
)
def test_what_is_missing_or_wrong_is_told(signed, kind, prop, instead):
    """A document with a missing property or an invalid value violates the shapes."""
    whole = stated(signed, *names(signed))
    typed = ox.NamedNode(RDF.type)
    for quad in list(whole.quads_for_pattern(None, ox.NamedNode(prop), None)):
        if kind is None or ox.Quad(quad.subject, typed, ox.NamedNode(kind)) in whole:
            whole.remove(quad)
            if instead is not None:
                whole.add(ox.Quad(quad.subject, quad.predicate, instead))
    assert report(whole, "companions")


def test_the_check_names_the_document(signed, tmp_path):
    """A claim of an unknown class is reported with its file."""
    copy = shutil.copytree(signed, tmp_path / "copy")
    path = next(copy.glob("claims/*/*.ttl"))
    path.write_text(path.read_text().replace("kgb:Claim ,", "kgb:Claim , kgb:Rumour ,"))
    with PublicationFiles([copy]) as published:
        found = list(shapes.companions(published))
    assert found
    assert {one.file for one in found} == {path.relative_to(copy).as_posix()}


def test_claims_and_observations_lead_to_each_other(signed):
    """A claim derives from all observations of its row; they cite it and have its values."""
    claims, cube = stated(signed, "claims.ttl"), stated(signed, f"{TABLES}.ttl")
    found = iris(claims, f"{BASE}claims.ttl#claims", DCTERMS.hasPart)
    assert len(found) == 2
    for claim in found:
        rows = {
            one
            for one in iris(claims, claim, PROV.wasDerivedFrom)
            if one.startswith(f"{BASE}{TABLES}#leaderboard-")
        }
        cited = {
            quad.subject.value
            for quad in cube.quads_for_pattern(
                None, ox.NamedNode(DCTERMS.isReferencedBy), ox.NamedNode(claim)
            )
        }
        assert rows == cited != set()
        for row in rows:
            (measure,) = values(cube, row, QB.measureType)
            (value,) = values(cube, row, measure.value)
            assert values(claims, claim, measure.value) == [value] or value.value == "NaN"
            assert iris(cube, row, KGB.model) == iris(claims, claim, KGB.model)
        single = stated(signed, claim.removeprefix(BASE).partition("#")[0])
        about = ox.NamedNode(claim)
        assert set(single) == set(claims.quads_for_pattern(about, None, None))


@pytest.mark.usefixtures("quick")
def test_claims_name_the_passes_of_their_models(tmp_path):
    """A claim derives from the passes that evaluate its model, not from those of other runs."""
    place, out = tmp_path / "store", tmp_path / "site"
    for models in (("oracle", "silent"), ("silent",)):
        specs = [part for name in models for part in ("-m", f"baseline:{name}")]
        command("run", "--new", "--store", place, *specs, "-t", "RdfFriendCount-turtle-1")
    publish(place, out)
    with open_reader(str(place)) as store:
        runs = sorted(reading.runs(store), key=lambda run: run.started)
        graphs_of_runs = [
            {addresses(place).published(one.graph) for one in reading.passes(store, run)}
            for run in runs
        ]
    claims = stated(out, "claims.ttl")
    behind = {
        claim.rpartition("/")[2].split("-")[1]: {iri for iri in found if "/graph/" in iri}
        for claim in iris(claims, f"{BASE}claims.ttl#claims", DCTERMS.hasPart)
        if (found := iris(claims, claim, PROV.wasDerivedFrom))
    }
    first, second = graphs_of_runs
    assert behind == {"oracle": first, "silent": first | second}
    assert len(first) == len(second) == 1


def test_the_catalogue_has_all_companions(signed):
    """Tables and claims are data sets with files; the signature is named."""
    catalog = stated(signed, "catalog.ttl")
    listed = iris(catalog, f"{BASE}#catalog", DCAT.dataset)
    wanted = {
        f"{BASE}{TABLES}#tables",
        f"{BASE}claims.ttl#claims",
    }
    assert listed == {f"{BASE}#dataset", *wanted}
    assert iris(catalog, f"{BASE}#dataset", DCTERMS.hasPart) == wanted
    for one in wanted:
        assert iris(catalog, one, DCTERMS.isPartOf) == {f"{BASE}#dataset"}
        files = iris(catalog, one, DCAT.distribution)
        assert files
        for file in files:
            (size,) = values(catalog, file, DCAT.byteSize)
            assert (signed / file.removeprefix(BASE)).stat().st_size == int(size.value)
            assert values(catalog, file, SPDX.checksum)
    cubes = iris(catalog, f"{BASE}{TABLES}#tables", DCTERMS.hasPart)
    assert f"{BASE}{TABLES}#leaderboard" in cubes
    assert iris(catalog, f"{BASE}#dataset", DCTERMS.relation) == {f"{BASE}signature.jsonld"}
    assert iris(catalog, f"{BASE}signature.jsonld", DCTERMS.references) == {f"{BASE}keys.jsonld"}


def test_an_unsigned_catalogue_names_no_signature(site):
    """An unsigned publication refers to no signature."""
    for name in ("catalog.ttl", "sitemap.xml", "index.html"):
        text = (site / name).read_text(encoding="utf-8")
        assert "signature.jsonld" not in text
        assert "keys.jsonld" not in text


def test_void_counts_the_companions(signed):
    """VoID states for each companion its dump and its number of triples."""
    void = stated(signed, "void.ttl")
    topics = iris(void, f"{BASE}void.ttl", FOAF.topic)
    assert len(topics) == 2
    for one in topics:
        (dump,) = iris(void, one, VOID.dataDump)
        (count,) = values(void, one, VOID.triples)
        assert len(stated(signed, dump.removeprefix(BASE))) == int(count.value), compact(one)


def test_machines_and_people_are_led_there(signed):
    """Links of the page and the site map name keys and signature, the page all companions."""
    page = (signed / "index.html").read_text(encoding="utf-8")
    sitemap = (signed / "sitemap.xml").read_text(encoding="utf-8")
    for relation, name in (("related", "keys.jsonld"), ("describedby", "signature.jsonld")):
        assert f'<link rel="{relation}" href="{BASE}{name}"' in page
        assert f"<loc>{BASE}{name}</loc>" in sitemap
    for name in ("claims.ttl", f"{TABLES}.ttl", "keys.jsonld", "signature.jsonld"):
        assert f'<a href="{name}">' in page
