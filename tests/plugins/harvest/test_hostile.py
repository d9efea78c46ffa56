# SPDX-License-Identifier: Apache-2.0
"""Hostile sources: addresses, file names, redirects, sizes, damaged metadata."""

from __future__ import annotations

import os

import pytest
import zstandard

from kgbench.errors import ImportRefused, QueryError
from kgbench.net.limits import Budget
from kgbench.plugins.harvest.harvester import harvest
from kgbench.plugins.harvest.leaderboard import combined_leaderboard
from kgbench.plugins.harvest.verification import Source
from kgbench.scores.declared import score_set
from kgbench.signing.proofs import read, serialise
from tests.plugins.harvest.conftest import harvested, renew, seal, tampered
from tests.publish.conftest import command
from tests.store.scripted import Scripted, said


@pytest.mark.parametrize(
    "address",
    [
        "ftp://e.org/",
        "http://",
        "http://u:p@e.org/",
        "http://e.org/?x",
        "http://e.org:99999/",
        "none",
    ],
)
def test_addresses_that_are_none_are_refused(address, tmp_path):
    """Invalid addresses are refused before any request."""
    with pytest.raises(ImportRefused):
        list(harvest([address], tmp_path / "s", max_bytes=1, seconds=1.0))


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../../x", "http://other/", "", "a b", "x" * 300]
)
def test_no_file_outside_the_source_is_asked_for(name, tmp_path):
    """Only files of the source are requested, by plain names."""
    with pytest.raises(ImportRefused):
        Source.named(str(tmp_path)).get(name, tmp_path / "t", Budget(100, 60.0))


def test_a_link_out_of_a_folder_is_not_followed(tmp_path):
    """A symbolic link out of a harvested folder is not followed."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "keys.jsonld").symlink_to(tmp_path / "secret")

    (tmp_path / "site" / "data").symlink_to("data")  # leads to itself
    os.mkfifo(tmp_path / "site" / "SHA256SUMS")  # reading it would wait for ever

    source = Source.named(str(tmp_path / "site"))
    for name in ("keys.jsonld", "data/all.nq", "SHA256SUMS"):
        assert not source.get(name, tmp_path / "t", Budget(100, 60.0))


def test_no_redirect_is_followed(tmp_path):
    """A source that redirects is refused, and the target gets no request."""
    with Scripted([]) as other, Scripted([said(302, b"", Location=f"{other.url}/x")] * 3) as server:
        [one] = harvested([f"{server.url}/"], tmp_path / "s")
        assert "302" in one.refused
        assert not other.seen


def test_bytes_and_seconds_of_a_source_are_limited(groups, tmp_path):
    """A source above the limit of bytes or seconds is refused."""
    site = groups["ada"].site
    [large] = harvested([site], tmp_path / "s", max_bytes=30_000)
    [slow] = harvested([site], tmp_path / "s", seconds=0.0)

    assert "larger than" in large.refused
    assert "--seconds" in slow.refused


@pytest.mark.parametrize("name", ["keys.jsonld", "signature.jsonld", "SHA256SUMS"])
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\x00", b"[" * 10_000])
def test_damaged_sources_are_refused_in_words(groups, tmp_path, name, content):
    """A source with damaged keys, signature or checksums is refused, and nothing is kept."""
    (groups["ada"].site / name).write_bytes(content)
    [ada] = harvested([groups["ada"].site], tmp_path / "s")

    assert name in ada.refused
    assert not (tmp_path / "s").exists()


def test_an_address_without_a_publication_is_told_from_an_unsigned_one(groups, tmp_path):
    """A folder without a publication is distinguished from an unsigned publication."""
    (tmp_path / "folder").mkdir()
    (groups["ada"].site / "signature.jsonld").unlink()
    nothing, unsigned = harvested([tmp_path / "folder", groups["ada"].site], tmp_path / "s")

    assert "not a publication of kgbench" in nothing.refused
    assert "it is not signed" in unsigned.refused


def unsigned(group, data):
    """Remove the signature of a group, and put packed N-Quads in the place of its results."""
    (group.site / "signature.jsonld").unlink()
    [path] = group.site.glob("data/run-*.nq.zst")
    path.write_bytes(zstandard.compress(data))
    renew(group, path)


def test_what_a_source_leaves_is_for_the_next(groups, tmp_path):
    """A source that unpacks to too much gets its share of the limit, and others are harvested."""
    ada, bob = groups["ada"].site, groups["bob"].site
    unsigned(groups["ada"], b"<a:b> <a:c> <a:d> <a:e> .\n" * (1 << 20))
    bomb, good = harvested([ada, bob], tmp_path / "s", max_bytes=1 << 24, unsigned=True)

    assert "--most" in bomb.refused
    assert good.refused is None


@pytest.mark.parametrize("name", ["keys.jsonld", "signature.jsonld"])
def test_blank_nodes_are_refused_at_once(groups, tmp_path, name):
    """A few blank nodes, which take years to label, are refused in words."""
    path = groups["ada"].site / name
    content = read(path.read_bytes())
    nodes = [f"_:{number}" for number in range(60)]
    content["about"] = [{"id": node, "about": nodes} for node in nodes]
    path.write_text(serialise(content))
    [refused] = harvested([groups["ada"].site], tmp_path / "s")

    assert "blank nodes" in refused.refused


def test_blank_nodes_in_signed_data_are_refused(groups, tmp_path):
    """Data with blank nodes do not fit any signature."""
    ada = groups["ada"]
    [path] = ada.site.glob("data/run-*.nq.zst")
    path.write_bytes(zstandard.compress(b"_:a <a:b> _:b .\n_:b <a:b> _:a .\n"))
    renew(ada, path)
    seal(ada)
    [refused] = harvested([ada.site], tmp_path / "s")

    assert "blank nodes" in refused.refused


def test_data_that_do_not_fit_their_canonical_digest_are_refused(groups, tmp_path):
    """Data that differ from their signed canonical digest are refused."""
    ada = groups["ada"]
    tampered(ada)
    [one] = harvested([ada.site], tmp_path / "s")

    assert one.found is None


def test_the_command_says_what_came(groups, tmp_path):
    """The command prints one line per source and exits with 1 if a source is refused."""
    into = tmp_path / "s"
    told = command(
        "harvest", groups["ada"].site, "--into", into, "--key", f"{groups['ada'].key}.pub"
    )
    assert told == "new      ada: version 1, 2 parts\n"
    tampered(groups["bob"])
    told = command("harvest", groups["bob"].site, groups["ada"].site, "--into", into, code=1)
    lines = told.splitlines()
    assert lines[0].startswith(
        f"refused  {groups['bob'].site}: its SHA256SUMS differs from the signed"
    )
    assert lines[1] == "there    ada: version 1"


def test_an_unknown_name_is_not_trusted(groups, tmp_path):
    """--trust accepts only harvested sources."""
    harvested([groups["ada"].site], tmp_path / "s", [groups["ada"].public])

    with pytest.raises(QueryError, match="no source is called 'x'; there are: ada"):
        combined_leaderboard(tmp_path / "s", score_set("main"), trust=["x"])


@pytest.mark.parametrize("version", ["one", "", "-1", "1.5", "\u00b2", "9" * 5_000])
def test_a_version_that_is_no_number_is_refused(groups, tmp_path, version):
    """A source that signs any other version is refused, and the next one is harvested."""
    ada = groups["ada"]
    seal(ada, version=version)
    first, second = harvested([ada.site, groups["bob"].site], tmp_path / "sources")

    assert f"states no usable version: '{version[:40]}'" in first.refused
    assert second.refused is None
