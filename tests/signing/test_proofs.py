# SPDX-License-Identifier: Apache-2.0
"""Canonical data sets, proofs over them, and lists of keys."""

from __future__ import annotations

import hashlib
import json
import random
from datetime import UTC, datetime, timedelta

import pyoxigraph as ox
import pytest
from pyld import jsonld

from kgbench.errors import SignatureError
from kgbench.signing import proofs
from kgbench.signing.key_list import KeyList
from kgbench.signing.keys import SigningKey, decode, verifies

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
IRI = "https://example.org/keys.jsonld"
KEY, NEXT, OTHER = SigningKey.new(), SigningKey.new(), SigningKey.new()
P, G = ox.NamedNode("https://e.org/p"), ox.NamedNode("https://e.org/g")


def document(**more):
    """Return a small document."""
    content = {"id": "https://e.org/d", "version": "1", "about": "https://e.org/x", **more}
    return proofs.document(content)


def secured(unsigned=None, key=KEY, now=NOW):
    """Return a document with a proof."""
    return proofs.secure(unsigned or document(), key, f"{IRI}#{key.public}", now)


def quads():
    """Return a data set with all kinds of terms and escaped characters."""
    texts = ["", 'a\tb\b\n\r\f"\\', "\x00\x0b\x1f\x7f\x80", "é𝄞\u2028", "x" * 10]
    terms = [ox.Literal(text) for text in texts]
    terms += [ox.Literal("a", language="en-GB"), ox.Literal("01", datatype=P), P]
    return [ox.Quad(G, P, term, graph) for term in terms for graph in (G, ox.DefaultGraph())]


def test_canonical_data_are_those_of_another_implementation():
    """Canonical N-Quads equal those of pyld (URDNA2015)."""
    text = ox.serialize(
        [q for q in quads() if not str(q.object).strip('"').startswith(("a\\t", "\\u", "é"))],
        format=ox.RdfFormat.N_QUADS,
    )
    ours = proofs.canonical(ox.parse(text, ox.RdfFormat.N_QUADS))
    options = {
        "algorithm": "URDNA2015",
        "inputFormat": "application/n-quads",
        "format": "application/n-quads",
    }

    assert ours.decode() == jsonld.normalize(text.decode(), options)


def test_characters_are_escaped_as_the_recommendation_says():
    """Canonical N-Quads escape control characters and DEL, and nothing else."""
    line = proofs.canonical([ox.Quad(G, P, ox.Literal('\b\t\n\f\r"\\\x00\x0b\x7f\x80é'))])

    assert line.decode().split(" ", 2)[2] == (
        r'"\b\t\n\f\r\"\\\u0000\u000B\u007F' + "\x80é" + '" .\n'
    )


def test_order_repetition_and_labels_do_not_matter(monkeypatch, tmp_path):
    """Equal data sets have equal digests, whether they are sorted in memory or in files."""
    given = quads()
    shuffled = [*given, *given]
    random.Random(1).shuffle(shuffled)
    wanted = proofs.digest(given)
    monkeypatch.setattr(proofs, "_AT_ONCE", 3)

    assert proofs.digest(shuffled, tmp_path) == wanted
    assert wanted == hashlib.sha256(proofs.canonical(given)).hexdigest()
    assert list(tmp_path.iterdir()) == []
    assert proofs.digest(given[1:]) != wanted


@pytest.mark.parametrize(
    "quad",
    [
        ox.Quad(ox.BlankNode(), P, G),
        ox.Quad(G, P, ox.BlankNode()),
        ox.Quad(G, P, G, ox.BlankNode()),
        ox.Quad(G, P, ox.Triple(G, P, ox.BlankNode())),
    ],
)
def test_blank_nodes_are_refused(quad):
    """A data set with a blank node anywhere is refused: labelling takes exponential time."""
    with pytest.raises(SignatureError, match="blank nodes"):
        proofs.digest([*quads(), quad])


def test_a_document_with_blank_nodes_is_refused_before_it_is_verified():
    """Blank nodes in a document or its proof are refused, whichever form JSON-LD gives them."""
    made = secured()
    for name in ("https://e.org/x", "parts"):
        for value in ({"version": "1"}, [{"@list": ["a"]}], {"id": "_:a"}):
            with pytest.raises(SignatureError, match="blank nodes"):
                proofs.verify({**made, name: value}, KEY.public)
            with pytest.raises(SignatureError, match="blank nodes"):
                proofs.verify({**made, "proof": {**made["proof"], name: value}}, KEY.public)


def test_a_proof_holds_for_what_was_signed():
    """Verification returns the signed document without its proof."""
    read = proofs.read(proofs.serialise(secured()).encode())

    assert proofs.verify(read, KEY.public) == document()


def test_a_proof_is_that_of_the_recommendation():
    """The signature is over the hash that section 3.2.4 defines, computed here with pyld."""
    made = secured()
    said = dict(made["proof"])
    signature = said.pop("proofValue")
    del made["proof"]
    how = {"algorithm": "URDNA2015", "format": "application/n-quads"}
    parts = [
        hashlib.sha256(jsonld.normalize(one, how).encode())
        for one in ({"@context": made["@context"], **said}, made)
    ]

    assert verifies(KEY.public, decode(signature), b"".join(one.digest() for one in parts))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(version="2"),
        lambda d: d.update(about="https://e.org/y"),
        lambda d: d.update({"https://e.org/more": "x"}),
        lambda d: d.pop("version"),
        lambda d: d["proof"].update(created="2026-11-22T12:00:00Z"),
        lambda d: d["proof"].update(verificationMethod=f"{IRI}#{OTHER.public}"),
        lambda d: d["proof"].update(
            proofValue=secured(document(version="2"))["proof"]["proofValue"]
        ),
        lambda d: d["proof"].update(proofValue="z"),
        lambda d: d["proof"].pop("proofValue"),
        lambda d: d["proof"].update(cryptosuite="none"),
        lambda d: d["proof"].update(proofPurpose="authentication"),
        lambda d: d.pop("proof"),
    ],
)
def test_every_change_is_noticed(change):
    """Every change of a signed document or of its proof makes verification fail."""
    made = secured()
    made["proof"] = dict(made["proof"])
    change(made)

    with pytest.raises(SignatureError):
        proofs.verify(made, KEY.public)


def test_another_key_does_not_fit():
    """Verification with another key fails."""
    with pytest.raises(SignatureError, match="does not fit"):
        proofs.verify(secured(), OTHER.public)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"@context": {}}',
        b"[" * 100_000,
        b" " * (proofs.LARGEST + 1),
        json.dumps({**document(), "x": {"@context": {"version": "https://e.org/z"}}}).encode(),
        json.dumps({**document(), "https://e.org/x": [[[[[[[[[[[[[["y"]]]]]]]]]]]]]]}).encode(),
    ],
)
def test_what_is_no_signed_document_is_refused(content):
    """Bytes that are not a document under our context are refused with a SignatureError."""
    with pytest.raises(SignatureError):
        proofs.read(content)


def test_values_are_read_from_what_was_signed():
    """JSON that states nothing in RDF, such as an unknown name, is not read as signed."""
    stated = proofs.Statements({**document(), "unknown": "x"})

    assert stated.one("https://e.org/d", "http://www.w3.org/ns/dcat#version") == "1"
    assert stated.all("https://e.org/d", "unknown") == []


# --- lists of keys -------------------------------------------------------------------------------


def controller(keys, key, now=NOW):
    """Return the signed controller document of a list of keys."""
    return proofs.secure(keys.document(IRI), key, f"{IRI}#{key.public}", now)


def published(keys, key, trusted=(), revoked=()):
    """Return the keys of a signed controller document as a reader finds them."""
    return KeyList.published(controller(keys, key), IRI, trusted, revoked)


def test_a_listed_key_is_not_trusted_because_it_is_listed():
    """Only the keys that a reader names may sign, whatever keys the document lists."""
    keys = KeyList().adding(KEY.public, NOW).adding(NEXT.public, NOW)

    for trusted in ([NEXT.public], [], [KEY.public, NEXT.public]):
        assert set(published(keys, NEXT, trusted).usable) == {KEY.public, NEXT.public}
    for trusted in ([KEY.public], [OTHER.public]):
        with pytest.raises(SignatureError, match="not trusted"):
            published(keys, NEXT, trusted)
    with pytest.raises(SignatureError, match="not a key of"):
        published(keys, OTHER)


@pytest.mark.parametrize("days", [-1, 0, 1])
@pytest.mark.parametrize("told", ["by the list", "by somebody known"])
def test_a_revoked_key_vouches_for_nothing(days, told):
    """A signature by a revoked key is refused, whatever time it claims."""
    keys = KeyList().adding(KEY.public, NOW).adding(NEXT.public, NOW)
    revoked = keys.revoking(KEY.public, "stolen", NOW)
    listed, known = (revoked, []) if told == "by the list" else (keys, revoked.revoked)
    found = published(listed, NEXT, [NEXT.public, KEY.public], known)

    with pytest.raises(SignatureError, match=r"revoked at 2026-11-23.*stolen"):
        found.verify(secured(now=NOW + timedelta(days)), IRI, [KEY.public])
    with pytest.raises(SignatureError, match="revoked"):
        published(listed, KEY, [KEY.public], known)
    with pytest.raises(SignatureError, match="revoked"):
        published(listed, KEY, (), known)


def test_the_newest_key_is_not_revoked():
    """The newest key cannot be revoked; unknown and revoked keys are refused, too."""
    keys = KeyList().adding(KEY.public, NOW).adding(NEXT.public, NOW)

    with pytest.raises(SignatureError, match="newest"):
        keys.revoking(NEXT.public, "x", NOW)
    with pytest.raises(SignatureError, match="no key"):
        keys.revoking(OTHER.public, "x", NOW)
    with pytest.raises(SignatureError, match="already"):
        keys.revoking(KEY.public, "x", NOW).revoking(KEY.public, "x", NOW)


def test_a_list_is_kept_beside_its_key(tmp_path):
    """A stored list is read back unchanged; others are refused."""
    keys = KeyList().adding(KEY.public, NOW).adding(NEXT.public, NOW)
    keys.keep(tmp_path / "k")

    assert KeyList.read(tmp_path / "k").entries == keys.entries
    for damaged in ('[{"no": 1}]', "[1]", "{}x"):
        (tmp_path / "k.keys").write_text(damaged)
        with pytest.raises(SignatureError, match="restore the file"):
            KeyList.read(tmp_path / "k")


def test_a_reader_names_keys_or_lists(tmp_path):
    """A list that a reader names brings keys and revocations; a key of it stays revoked."""
    keys = KeyList().adding(KEY.public, NOW).adding(NEXT.public, NOW)
    keys.revoking(KEY.public, "stolen", NOW).keep(tmp_path / "k")
    given = KeyList.given([str(tmp_path / "k.keys"), KEY.public, OTHER.public])

    assert set(given.usable) == {OTHER.public, NEXT.public}
    assert [entry.key for entry in given.revoked] == [KEY.public]
    assert KeyList.given([]).usable == []
    for entry in ({"key": KEY.public, "revoked": "2026-01-01T00:00:00Z"}, {"key": "z6Mk"}):
        (tmp_path / "k.keys").write_text(json.dumps([entry]))
        with pytest.raises(SignatureError):
            KeyList.given([str(tmp_path / "k.keys")])


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_times_that_utc_does_not_have_are_refused(text):
    """A time at the end of the calendar in another zone is refused in words."""
    with pytest.raises(SignatureError, match="cannot be read"):
        proofs.parse_time(text)
