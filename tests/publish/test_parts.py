# SPDX-License-Identifier: Apache-2.0
"""The parts of a publication one by one: descriptions, folders, dumps, withheld data."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.errors import PublicationRefused
from kgbench.publish import dumps, redaction, settings
from kgbench.publish.dumps import Packing
from kgbench.publish.folder import STATE, Version, claimed
from kgbench.publish.metadata import Publication
from kgbench.publish.redact import published_store
from kgbench.publish.redaction import RedactionLevel
from kgbench.vocab import DCAT
from tests.publish.conftest import BASE

VCARD = "http://www.w3.org/2006/vcard/ns#"
PACKING = Packing("gzip", None, "a canary")


def _quad(number, graph="urn:g"):
    names = (f"urn:s{number}", "urn:p", "urn:o", graph)
    return ox.Quad(*map(ox.NamedNode, names))


# --- descriptions -------------------------------------------------------------------------------


def test_options_describe_a_data_set():
    """Options override the description, and the rest stays."""
    before = settings.DatasetDescription(title="old", description="old", keywords=("old",))
    nothing = {"title": None, "licence_given": None, "creators": []}
    found = settings.with_options(
        before,
        **nothing,
        description="new",
        publisher="Lab <https://example.org/lab>",
        keywords=["a", "b"],
    )
    assert (found.title, found.description, found.keywords) == ("old", "new", ("a", "b"))
    assert found.publisher == settings.Agent("Lab", "https://example.org/lab")


@pytest.mark.parametrize("text", ["https://a b/", "https://<x>/"])
def test_licences_that_are_no_iris_are_refused(text):
    """A licence with an invalid IRI is refused."""
    with pytest.raises(PublicationRefused, match="is not the IRI of a licence"):
        settings.licence(text)


@pytest.mark.parametrize("text", ["nope", "MIT OR Apache-2.0", "MIT+", "LicenseRef-own", "AND"])
def test_licences_without_a_page_at_spdx_are_refused(text):
    """Only identifiers of the SPDX list become IRIs of it, with the case of the list."""
    with pytest.raises(PublicationRefused, match="is neither the IRI nor the SPDX identifier"):
        settings.licence(text)
    assert settings.licence("cc-by-4.0") == "https://spdx.org/licenses/CC-BY-4.0"


CONTACTS = {
    '"Ann, room 7"': (settings.Agent("Ann, room 7"), None, None),
    "<mailto:ann@example.org>": (
        settings.Agent("mailto:ann@example.org", "mailto:ann@example.org"),
        VCARD + "hasEmail",
        "mailto:ann@example.org",
    ),
    "[ v:fn 'Lab' ; v:hasURL <https://example.org/lab> ]": (
        settings.Agent("Lab", "https://example.org/lab"),
        VCARD + "hasURL",
        "https://example.org/lab",
    ),
    "[ v:hasEmail <mailto:ann@example.org> ]": (
        settings.Agent("mailto:ann@example.org", "mailto:ann@example.org"),
        VCARD + "hasEmail",
        "mailto:ann@example.org",
    ),
    "[ ]": (None, None, None),
}


@pytest.mark.parametrize("written", CONTACTS)
def test_contacts_are_published_as_cards(tmp_path, written):
    """A contact in any form is published as a vCard with a name."""
    (tmp_path / "about.ttl").write_text(
        f"@prefix v: <{VCARD}> . [] a <{DCAT.Dataset}> ; <{DCAT.contactPoint}> {written} .",
        encoding="utf-8",
    )
    read = settings.read(tmp_path / "about.ttl")
    agent, way, iri = CONTACTS[written]
    assert read.contact == agent
    version = Version(1, "2026-01-01T00:00:00Z", "0", 1, 1, 1, ())
    published = Publication(
        base=BASE,
        metadata=read,
        versions=[version],
        packing=PACKING,
        level=RedactionLevel.NONE,
        endpoint=None,
        measured=(),
        canaries=(),
        collected="2026-01-01T00:00:00Z",
    )
    with published_store([], BASE) as view:
        catalogue = published.catalogue(view)
    said = {
        (q.predicate.value, q.object.value)
        for q in catalogue
        if q.subject.value == f"{BASE}#contact"
    }
    pointed = [q.object.value for q in catalogue if q.predicate.value == DCAT.contactPoint]
    assert pointed == ([] if agent is None else [f"{BASE}#contact"])
    assert ((VCARD + "fn", agent.name) in said) if agent else not said
    assert {(p, o) for p, o in said if "/ns#has" in p} == ({(way, iri)} if way else set())


@pytest.mark.parametrize(
    ("base", "words"),
    [("https://example.org/a//b/", "shortest form"), ("https://example.org/a/../b/", "shortest")],
)
def test_bases_have_their_shortest_form(base, words):
    """A base with empty or dotted path segments is refused."""
    with pytest.raises(PublicationRefused, match=words):
        settings.checked_base(base)


def test_endpoints_and_passwords_that_will_do():
    """A valid endpoint or password is returned unchanged."""
    assert settings.checked_endpoint("https://example.org/sparql") == "https://example.org/sparql"
    assert dumps.checked_password("VARIABLE", "long enough") == "long enough"


# --- folders ------------------------------------------------------------------------------------


def test_a_file_is_written_once(folder):
    """Within one publication, the first content written to a path stays."""
    folder.write("a/b.txt", "first")
    folder.write("a/b.txt", "second")
    assert (folder.path / "a" / "b.txt").read_text() == "first"
    assert folder.changed == 1


def test_removing_leaves_no_empty_folders(folder):
    """Folders that become empty are removed, up to the published folder."""
    folder.write("a/b/c.txt", "x")
    folder.write("a/d.txt", "x")
    folder.remove("a/b/c.txt")
    assert [path.name for path in (folder.path / "a").iterdir()] == ["d.txt"]
    folder.remove("a/d.txt")
    assert [path.name for path in folder.path.iterdir()] == [STATE]


def test_files_in_the_place_of_folders_are_told(folder):
    """A file in the place of a folder is refused, and the message names it."""
    (folder.path / "run").write_text("mine")
    with pytest.raises(
        PublicationRefused, match=r"run is a file, but the publication needs a folder there: remove"
    ):
        folder.write("run/1/index.html", "x")


def test_folders_that_cannot_be_claimed(tmp_path, folder):
    """A folder below a file, or of another version, is refused."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(PublicationRefused, match="cannot be written: Not a directory"):
        claimed(tmp_path / "file" / "site").__enter__()
    (folder.state / "owner").write_text("kgbench publication 0\n")
    with pytest.raises(PublicationRefused, match="another version of kgbench publish"):
        claimed(folder.path).__enter__()


# --- dumps --------------------------------------------------------------------------------------


def test_compression_needs_its_package(monkeypatch):
    """Without zstandard, the message names the alternative."""
    monkeypatch.setattr(dumps, "find_spec", lambda _: None)
    dumps.check_compression("gzip")
    with pytest.raises(PublicationRefused, match="or use --compress gzip"):
        dumps.check_compression("zstd")


# --- withheld data ------------------------------------------------------------------------------


def test_case_data_of_any_form_are_withheld():
    """Case data that are no object are withheld whole, since all of them may be the answer."""
    assert redaction.public_fields(["which dragon?"], RedactionLevel.NONE) == ["which dragon?"]
    assert redaction.public_fields(["which dragon?"], RedactionLevel.GOLD) == {}
    gold = redaction.gold_texts([{"a": "the grey dragon"}, "short"])
    assert gold == {"the grey dragon"}
    assert redaction.gold_texts({"question": "which dragon?", "n": 1}) == frozenset()
    infos = {"sparql": "the grey dragon!", "n": 3, "part": {"sparql": "none", "own": "x"}}
    assert redaction.redacted_infos(infos, RedactionLevel.GOLD, gold) == {
        "n": 3,
        "part": {"sparql": "none"},
    }
    assert redaction.redacted_infos(["the grey dragon"], RedactionLevel.GOLD, gold) == {}


def test_what_is_no_json_is_a_text():
    """Invalid or deeply nested JSON is treated as a text."""
    assert redaction.parse_json("{") == "{"
    assert redaction.parse_json("[" * 100_000) == "[" * 100_000
