# SPDX-License-Identifier: Apache-2.0
"""Signed publications: what is signed, what a check detects, and how keys change."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from datetime import UTC, datetime

import pyoxigraph as ox
import pytest

from kgbench.connectors.baseline import Baseline
from kgbench.errors import PublicationRefused, SignatureError
from kgbench.plugins.harvest.harvester import harvest
from kgbench.publish import dumps
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.signatures import Signatures, checksums
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.signing import Signer
from kgbench.signing.key_list import KeyEntry, KeyList
from kgbench.signing.keys import SigningKey
from kgbench.signing.proofs import context, read, secure, serialise
from kgbench.vocab import KGB
from tests.publish.conftest import BASE, TASKS, command, hasten, publish
from tests.publish.reading import dump


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """Return a folder with the key ``k`` and the later key ``next``."""
    folder = tmp_path_factory.mktemp("keys")
    command("keys", "new", folder / "k")
    command("keys", "new", folder / "next", "--after", folder / "k")
    return folder


@pytest.fixture(scope="module")
def signed(recorded, keyed, tmp_path_factory):
    """Return a signed publication, without the constant parts of every publication."""
    out = tmp_path_factory.mktemp("signed") / "bench"
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        publish(recorded, out, signer=Signer.read(keyed / "k", out))
    return out


@pytest.fixture
def copy(signed, tmp_path):
    """Return a copy of the publication that a test may change."""
    return shutil.copytree(signed, tmp_path / "copy")


def key(keyed, name="k"):
    """Return a public key."""
    return (keyed / f"{name}.pub").read_text().strip()


def faults(out, *keys, advice=False):
    """Return the faults in the signatures of a folder, as file and message."""
    with PublicationFiles([out]) as published:
        found = list(Signatures(published, keys).check())
    return [(one.file, one.message) for one in found if one.advice is advice]


def test_a_signed_publication_fits_its_key(signed, keyed):
    """A signed publication has no faults; without a trusted key, the check gives advice."""
    assert faults(signed, key(keyed)) == []
    assert faults(signed, key(keyed), advice=True) == []
    [(file, message)] = faults(signed, advice=True)
    assert file == "keys.jsonld"
    assert key(keyed) in message


def test_another_key_does_not_vouch_for_it(signed):
    """A publication signed with another key is refused."""
    [(file, message)] = faults(signed, SigningKey.new().public)

    assert file == "keys.jsonld"
    assert "not trusted" in message


def test_an_unsigned_publication_is_told(site, keyed):
    """Signatures are required only if a key is given."""
    assert {file for file, _ in faults(site, key(keyed))} == {"keys.jsonld", "signature.jsonld"}
    with PublicationFiles([site]) as published:
        assert not Signatures(published, ()).wanted


def test_every_claim_is_signed(signed):
    """Each model has a claim, and each claim has a signed document."""
    plain = sorted(
        p.relative_to(signed / "claims").with_suffix("") for p in signed.glob("claims/*/*.ttl")
    )
    proved = sorted(
        p.relative_to(signed / "signed").with_suffix("") for p in signed.glob("signed/*/*.jsonld")
    )

    assert len(plain) == 2
    assert plain == proved


def renewed(out, name):
    """Renew the checksum of a file, as a tamperer does."""
    lines = (out / "SHA256SUMS").read_text().splitlines()
    told = hashlib.sha256((out / name).read_bytes()).hexdigest()
    lines = [f"{told}  {name}" if line.endswith(f"  {name}") else line for line in lines]
    (out / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def test_renewed_checksums_do_not_fit_the_signature(copy, keyed):
    """Renewed checksums do not match the signed list of checksums."""
    page = copy / "index.html"
    page.write_text(page.read_text().replace("oracle", "0racle"))
    renewed(copy, "index.html")

    assert ("SHA256SUMS", "The checksums of the files differ from the signed ones.") in faults(
        copy, key(keyed)
    )


def test_changed_data_do_not_fit_the_signature(copy, keyed):
    """A changed score in a dump does not match the signed canonical form."""
    import zstandard

    [path] = copy.glob("data/run-*.nq.zst")
    with dumps.opened(path, None) as content:
        text = content.read().decode()
    changed = re.sub(r'"[\d.]+"(?=\^\^<[^>]+#double>)', '"0.125"', text, count=1)
    path.write_bytes(zstandard.compress(changed.encode()))

    assert changed != text
    assert [file for file, _ in faults(copy, key(keyed))] == [f"data/{path.name}"]


def test_the_order_and_packing_of_data_do_not_matter(copy, keyed):
    """The order of statements and the compression of a dump may change."""
    import zstandard

    [path] = copy.glob("data/run-*.nq.zst")
    with dumps.opened(path, None) as content:
        lines = content.read().decode().splitlines()
    path.write_bytes(zstandard.compress(("\n".join(reversed(lines)) + "\n").encode()))

    assert faults(copy, key(keyed)) == []


def test_parts_that_come_or_go_are_told(copy, keyed):
    """Unsigned data and missing signed data are reported."""
    [path] = copy.glob("data/run-*.nq.zst")
    path.rename(path.with_name("run-another.nq.zst"))

    assert sorted(message for _, message in faults(copy, key(keyed))) == [
        "The data are not signed.",
        "The data are signed, but missing.",
    ]


def test_a_claim_that_was_changed_is_told(copy, keyed):
    """A change in a signed claim, or in the plain claim, is reported."""
    one, other = sorted(copy.glob("signed/*/*.jsonld"))
    one.write_text(one.read_text().replace('"@value": "', '"@value": "1', 1))
    plain = copy / "claims" / other.relative_to(copy / "signed").with_suffix(".ttl")
    plain.write_text(plain.read_text().replace("kgb:rank 1", "kgb:rank 7"))

    found = dict(faults(copy, key(keyed)))
    assert "does not fit" in found[one.relative_to(copy).as_posix()]
    assert "differs from" in found[other.relative_to(copy).as_posix()]


@pytest.mark.parametrize("name", ["keys.jsonld", "signature.jsonld"])
@pytest.mark.parametrize("content", ["", "{}", "[[[", '{"proof": 1}'])
def test_broken_signatures_are_told_in_words(copy, keyed, name, content):
    """A damaged signature or list of keys is reported as a fault of its file."""
    (copy / name).write_text(content)

    assert [file for file, _ in faults(copy, key(keyed))] == [name]


@pytest.mark.parametrize("name", ["keys.jsonld", "signature.jsonld"])
def test_blank_nodes_are_a_fault(copy, keyed, name):
    """Blank nodes in a signed document, whose labelling may never end, are a fault at once."""
    content = read((copy / name).read_bytes())
    nodes = [f"_:{number}" for number in range(60)]
    content["about"] = [{"id": node, "about": nodes} for node in nodes]
    (copy / name).write_text(serialise(content))
    [(file, message)] = faults(copy, key(keyed))

    assert file == name
    assert "blank nodes" in message


@pytest.mark.parametrize(
    "name", ["sw.js", "more/index.html", ".well-known/x", "no-extension", ".kgbench-publish/x.js"]
)
def test_a_signed_publication_has_no_other_files(copy, keyed, name):
    """A file that nobody signed is a fault of a signed publication, wherever it is."""
    with PublicationFiles([copy]) as published:
        before = [fault for fault in checksums(published) if not fault.advice]
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("x")
    with PublicationFiles([copy]) as published:
        found = [fault for fault in checksums(published) if not fault.advice]

    assert before == []
    assert [(fault.file, fault.message) for fault in found] == [
        (name, "The file is not in SHA256SUMS.")
    ]


def test_two_signed_checksums_are_a_fault(copy, keyed):
    """A signed document that states two checksums of the same list is a fault."""
    path = copy / "signature.jsonld"
    content = read(path.read_bytes())
    method = content.pop("proof")["verificationMethod"]
    content["parts"].append({"id": f"{BASE}SHA256SUMS", "sha256": "0" * 64})
    signing_key = SigningKey.read(keyed / "k")
    path.write_text(serialise(secure(content, signing_key, method, datetime.now(UTC))))
    [(file, message)] = faults(copy, key(keyed))
    assert file == "signature.jsonld"
    assert "several values" in message


def test_publishing_again_changes_nothing(recorded, signed, keyed, quick):
    """Unchanged documents keep their proofs."""
    before = {p: p.read_bytes() for p in signed.rglob("*.jsonld")}
    report = publish(recorded, signed, signer=Signer.read(keyed / "k", signed))

    assert report.changed == 0
    assert {p: p.read_bytes() for p in signed.rglob("*.jsonld")} == before


def test_a_changed_claim_is_not_signed(recorded, copy, keyed, quick):
    """A claim that others changed in the folder is made again before it is signed."""
    path = next(copy.glob("claims/*/*.ttl"))
    text = path.read_text()
    path.write_text(text.replace('"1.0"', '"0.9"'))
    assert path.read_text() != text
    publish(recorded, copy, signer=Signer.read(keyed / "k", copy))

    assert path.read_text() == text
    assert faults(copy, key(keyed)) == []


def test_a_new_key_is_for_readers_who_name_it(recorded, copy, keyed, quick):
    """A new key needs a reader's trust, and no advice asks for it; a revocation is reported."""
    command("keys", "new", keyed / "last", "--after", keyed / "next")
    command("keys", "revoke", keyed / "last", keyed / "k.pub", "--reason", "stolen")
    publish(recorded, copy, signer=Signer.read(keyed / "last", copy))
    assert faults(copy, key(keyed, "last")) == []
    [(_, message)] = faults(copy, key(keyed, "last"), advice=True)
    assert key(keyed) in message
    assert "stolen" in message
    [(file, message)] = faults(copy, key(keyed))
    assert file == "keys.jsonld"
    assert "not trusted" in message
    with PublicationFiles([copy]) as published:
        for found in Signatures(published, [key(keyed)]).check():
            assert key(keyed, "last") not in found.remedy


def test_what_a_revoked_key_signed_is_refused(copy, keyed):
    """A reader who knows of the revocation refuses what the key signed, at whatever time."""
    revoked = KeyList.read(keyed / "k").knowing(
        [KeyEntry(key(keyed), revoked="2099-01-01T00:00:00Z", reason="stolen")]
    )
    with PublicationFiles([copy]) as published:
        [fault] = Signatures(published, [key(keyed)], revoked.revoked).check()
    assert "was revoked at 2099-01-01T00:00:00Z (stolen)" in fault.message


def test_an_unsigned_publication_has_no_signatures_left(recorded, copy, quick):
    """Publishing without a key removes signatures and signed documents."""
    publish(recorded, copy)

    assert not list(copy.glob("signed/**/*.jsonld"))
    assert not (copy / "keys.jsonld").exists()
    assert not (copy / "signature.jsonld").exists()


def test_a_key_in_the_folder_is_refused(recorded, tmp_path):
    """A private key in the published folder is refused."""
    out = tmp_path / "out"
    out.mkdir()
    SigningKey.new().keep(out / "k")

    with pytest.raises(PublicationRefused, match="move it elsewhere"):
        Signer.read(out / "k", out)


def test_a_revoked_key_signs_nothing(keyed, tmp_path):
    """A revoked key does not sign."""
    entries = json.loads((keyed / "next.keys").read_text())
    entries[-1]["revoked"] = "2026-01-01T00:00:00Z"
    for name in ("next", "next.pub"):
        shutil.copy2(keyed / name, tmp_path / name)
    (tmp_path / "next.keys").write_text(json.dumps(entries))

    with pytest.raises(SignatureError, match="revoked"):
        Signer.read(tmp_path / "next", tmp_path / "out")


def test_encrypted_data_are_signed(recorded, keyed, tmp_path, quick):
    """Encrypted data are signed by the canonical form of their content."""
    password = "a long password"
    out = tmp_path / "out"
    publish(recorded, out, password=password, signer=Signer.read(keyed / "k", out, password))
    with PublicationFiles([out], password) as published:
        found = list(Signatures(published, [key(keyed)]).check())

    assert found == []
    with PublicationFiles([out]) as published:
        assert list(Signatures(published, [key(keyed)]).check()) == []


@pytest.mark.parametrize("level", [RedactionLevel.NONE, RedactionLevel.GOLD])
def test_a_text_that_parsers_refuse_is_left_out(keyed, tmp_path, quick, monkeypatch, level):
    """An answer of 17 MiB is left out, so the publication can be read."""
    monkeypatch.setattr(Baseline, "_answer", lambda *_: "a\n" * (17 << 19))
    command("run", "--store", tmp_path / "s", "-m", "baseline:oracle", "-t", TASKS[0])
    out = tmp_path / "site"
    publish(tmp_path / "s", out, signer=Signer.read(keyed / "k", out), level=level)

    assert faults(out, key(keyed)) == []
    redacted = ox.NamedNode(KGB.redacted)
    left_out = dump(out, "all.nq").quads_for_pattern(None, redacted, None)
    assert sum("/text/" in quad.subject.value for quad in left_out) == 1
    [harvested] = harvest([str(out)], tmp_path / "h", [key(keyed)], max_bytes=1 << 24, seconds=300)
    assert harvested.words == "new      site: version 1, 2 parts"


def test_the_command_signs_and_checks(recorded, keyed, tmp_path):
    """``publish --sign --check --key`` finds no faults, and a wrong key exits with 1."""
    out = tmp_path / "out"
    said = command(
        *("publish", "--store", recorded, "--out", out, "--base", BASE, "--licence", "CC-BY-4.0"),
        *("--creator", "Ada", "--sign", keyed / "k", "--check", "--key", keyed / "k.pub"),
    )
    assert "passed  signatures fit: signed by z6Mk" in said
    assert said.endswith("no faults\n")
    command("publish", "--check", out, "--key", SigningKey.new().public, code=1)


def test_signed_documents_are_read_without_a_network(signed):
    """Every signed document contains its whole JSON-LD context and states something."""
    for path in signed.rglob("*.jsonld"):
        if "proof" in json.loads(path.read_text()):
            assert list(ox.parse(path.read_bytes(), ox.RdfFormat.JSON_LD))
            assert json.loads(path.read_text())["@context"] == context()
