# SPDX-License-Identifier: Apache-2.0
"""Nanopublications of claims are valid, have trusty IRIs, and reveal every change."""

from __future__ import annotations

import importlib.util
import stat

import pyoxigraph as ox
import pytest

from kgbench.errors import ResourceError, SignatureError
from kgbench.vocab import NP, PROV
from tests.publish.conftest import command

BASE = "https://example.org/bench/"
CLAIM = f"""
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<{BASE}claims/small/parrot.ttl#claim> a kgb:Claim ; kgb:mean "0.75"^^xsd:double ; kgb:count 8 ;
    kgb:lowerBound "1e-05"^^xsd:double ; prov:wasDerivedFrom <{BASE}graph/pass/1> .
"""
WHO = "Ada Example <https://orcid.org/0000-0002-1825-0097>"
needs_library = pytest.mark.skipif(
    importlib.util.find_spec("nanopub") is None, reason="the extra nanopub is not installed"
)


@pytest.fixture
def site(tmp_path):
    """Return a published folder that has only a claim."""
    place = tmp_path / "site" / "claims" / "small"
    place.mkdir(parents=True)
    (place / "parrot.ttl").write_text(CLAIM)
    return tmp_path / "site"


def export(site, out, key, code=0):
    """Export the claims of a site."""
    if not key.exists():
        command("keys", "new", key, "--rsa")
    words = ("--creator", WHO, "--licence", "CC-BY-4.0", "-o", out)
    return command("export", "nanopublications", site, "--key", key, *words, code=code)


@needs_library
def test_each_claim_becomes_a_valid_nanopublication(site, tmp_path):
    """The library and kgbench find it valid; its IRI is a trusty IRI below the base."""
    from kgbench.plugins.exchange.nanopublications import verified

    export(site, tmp_path / "out", tmp_path / "key")

    [path] = (tmp_path / "out").iterdir()
    assert verified(path.read_bytes()) == f"{BASE}nanopublications/{path.stem}"
    assert path.stem.startswith("RA")
    quads = list(ox.parse(path.read_bytes(), ox.RdfFormat.TRIG))
    [this] = {
        q.subject.value for q in quads if getattr(q.object, "value", "") == NP.Nanopublication
    }
    graphs = {q.graph_name.value.removeprefix(f"{this}#") for q in quads}
    assert graphs == {"Head", "assertion", "provenance", "pubinfo"}
    assert any(
        q.predicate.value == PROV.wasDerivedFrom and q.object.value == f"{BASE}graph/pass/1"
        for q in quads
        if q.graph_name.value.endswith("#provenance")
    )


@needs_library
@pytest.mark.parametrize(("before", "after"), [("0.75", "0.95"), ("graph/pass/1", "graph/pass/2")])
def test_every_change_is_noticed(site, tmp_path, before, after):
    """A changed number or provenance does not match the trusty IRI."""
    from kgbench.plugins.exchange.nanopublications import verified

    export(site, tmp_path / "out", tmp_path / "key")
    [path] = (tmp_path / "out").iterdir()
    changed = path.read_text().replace(before, after)

    assert changed != path.read_text()
    with pytest.raises(SignatureError, match="Trusty"):
        verified(changed.encode())


@needs_library
def test_a_forged_signature_is_noticed(site, tmp_path, monkeypatch):
    """A forged signature is refused, even with a valid trusty IRI, which the library accepts."""
    import nanopub.sign_utils
    from Crypto.Hash import SHA256

    from kgbench.plugins.exchange.nanopublications import verified

    export(site, tmp_path / "true", tmp_path / "key")
    monkeypatch.setattr(
        nanopub.sign_utils.SHA256, "new", lambda data=b"": SHA256.SHA256Hash(data + b"else")
    )
    with pytest.raises(AssertionError, match="does not match"):
        export(site, tmp_path / "out", tmp_path / "key")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    [path] = (tmp_path / "true").iterdir()
    assert verified(path.read_bytes())


def test_an_rsa_key_is_for_its_owner_only(tmp_path):
    """The private key has mode 0600 and is not used if others can read it."""
    from kgbench.signing.keys import private_key

    command("keys", "new", tmp_path / "key", "--rsa")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(SignatureError, match="may be read by others"):
        private_key(tmp_path / "key")


def test_what_is_not_installed_is_told(site, tmp_path, monkeypatch):
    """Without the library, the message names the extra."""
    import sys

    monkeypatch.setitem(sys.modules, "nanopub", None)
    command("keys", "new", tmp_path / "key", "--rsa")
    with pytest.raises(ResourceError, match="nanopub"):
        export(site, tmp_path / "out", tmp_path / "key")
