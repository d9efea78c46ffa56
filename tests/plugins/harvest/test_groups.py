# SPDX-License-Identifier: Apache-2.0
"""Three groups publish on loopback servers; their harvested results form one leaderboard."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from kgbench.errors import QueryError, ResourceError
from kgbench.plugins.harvest import leaderboard, sources
from kgbench.plugins.harvest.leaderboard import PublishedRun, _trusted_sources
from kgbench.publish import dumps
from kgbench.signing.keys import SigningKey
from kgbench.store import open_reader
from tests.plugins.harvest.conftest import (
    SHARED,
    Published,
    board,
    harvested,
    keys,
    renew,
    run,
    seal,
    tampered,
)
from tests.publish.conftest import command
from tests.publish.static import serving


def test_three_groups_make_one_leaderboard(groups, tmp_path):
    """An updated source is fetched; a tampered one is refused and its earlier version stays."""
    into = tmp_path / "sources"
    with contextlib.ExitStack() as servers:
        addresses = [servers.enter_context(serving(group.site)) for group in groups.values()]
        first = harvested(addresses, into, keys(groups))
        assert [(one.refused, one.before, one.found.version) for one in first] == [
            (None, None, 1)
        ] * 3
        rows, _ = board(into)
        assert rows[SHARED]["groups"] == 3
        assert rows[SHARED]["n"] == 6
        assert len(rows) == 4

        run(groups["bob"].store, "baseline:oracle")
        groups["bob"].publish()
        tampered(groups["eve"])
        ada, bob, eve = harvested(addresses, into)
        assert (ada.fetched, ada.found.version) == (0, 1)
        assert (bob.before, bob.found.version, bob.fetched) == (1, 2, 3)
        assert eve.found is None
        assert "differs from the signed one" in eve.refused

        rows, _ = board(into)
        assert rows["baseline:oracle"]["rank"] == 1
        assert rows[SHARED]["groups"] == 3
    assert {path.name for path, _ in sources.all_sources(into)} == {one.name for one in first}


def test_graphs_of_a_source_stay_apart(groups, tmp_path):
    """Each source has a store of its own, which records the origin of its data."""
    harvested([group.site for group in groups.values()], tmp_path / "s", keys(groups))

    runs = Counter()
    for path, source in sources.all_sources(tmp_path / "s"):
        with open_reader(str(path / "store")) as store:
            [row] = list(
                store.query(
                    "SELECT ?run WHERE { GRAPH ?g { ?run a <https://w3id.org/kgbench/ns#Run> } }"
                )
            )
            runs[row["run"].value] += 1
            assert row["run"].value.startswith(source.base)
            origins = list(
                store.query(
                    "SELECT ?o WHERE { GRAPH ?g { ?s <http://purl.org/dc/terms/source> ?o . "
                    "?s <https://w3id.org/kgbench/ns#sourceDigest> ?d } }"
                )
            )
            assert any(source.address in row["o"].value for row in origins)
    assert set(runs.values()) == {1}


def test_only_what_is_new_is_fetched(groups, tmp_path):
    """For an unchanged source, no data are fetched."""
    ada = groups["ada"]
    harvested([ada.site], tmp_path / "s", [ada.public])
    shutil.rmtree(ada.site / "data")
    [again] = harvested([ada.site], tmp_path / "s")

    assert again.refused is None
    assert again.fetched == 0


def test_a_run_that_was_withdrawn_goes(groups, tmp_path):
    """A withdrawn run disappears from the store of its source."""
    ada = groups["ada"]
    run(ada.store, "baseline:oracle")
    ada.publish()
    harvested([ada.site], tmp_path / "s", [ada.public])
    assert "baseline:oracle" in board(tmp_path / "s")[0]
    shutil.rmtree(ada.store)
    run(ada.store, SHARED)
    ada.publish()
    [one] = harvested([ada.site], tmp_path / "s")

    assert one.refused is None
    assert len(one.withdrawn) == 2
    assert one.words.endswith(f"; withdrawn: {', '.join(one.withdrawn)}")
    assert set(board(tmp_path / "s")[0]) == {SHARED}
    assert not list((tmp_path / "s").glob("*/store.*"))


# --- trust ------------------------------------------------------------------------------------


def test_a_source_by_another_key_is_refused(groups, tmp_path):
    """With trusted keys given, a source with another key is refused."""
    [one] = harvested([groups["ada"].site], tmp_path / "s", [groups["bob"].public])

    assert "not trusted" in one.refused
    assert not (tmp_path / "s").exists()


def test_unsigned_sources_are_taken_only_on_demand(groups, tmp_path):
    """Unsigned sources need ``unsigned``; a source that was signed once must stay signed."""
    ada, bob = groups["ada"], groups["bob"]
    ada.publish(signed=False)
    [refused] = harvested([ada.site], tmp_path / "s")
    assert "not signed" in refused.refused
    [taken] = harvested([ada.site], tmp_path / "s", unsigned=True)
    assert (taken.refused, taken.found.signer) == (None, None)
    harvested([bob.site], tmp_path / "s")
    bob.publish(signed=False)
    [gone] = harvested([bob.site], tmp_path / "s", unsigned=True)
    assert "no longer signed" in gone.refused


def test_unvouched_sources_count_only_where_they_are_trusted(groups, tmp_path):
    """A source without a trusted key counts only if ``--trust`` names it."""
    into = tmp_path / "s"
    harvested([groups["ada"].site], into, [groups["ada"].public])
    harvested([groups["bob"].site], into)

    rows, notes = board(into)
    assert rows[SHARED]["groups"] == 1
    assert any("bob" in note and "no given key" in note for note in notes), notes
    for name in ("bob", groups["bob"].public, "https://bob.example.org/bench/"):
        rows, _ = board(into, "--trust", name)
        assert rows[SHARED]["sources"].startswith("bob ")
    with pytest.raises(QueryError, match="no source is called 'nobody'"):
        board(into, "--trust", "nobody")
    command("analyze", "leaderboard", "--trust", "bob", code=2)


def renewed(group, name, *, revoking=True):
    """Sign a group with a new key, which lists the earlier one, as revoked if ``revoking``."""
    new = group.folder / name
    command("keys", "new", new, "--after", group.key)
    if revoking:
        command("keys", "revoke", new, f"{group.key}.pub", "--reason", "stolen")
    group.key = new
    seal(group)


def test_a_new_key_is_followed_only_if_it_is_named(groups, tmp_path):
    """A new key of a source is refused until the user names it; then the old one stays revoked."""
    ada, into = groups["ada"], tmp_path / "s"
    old = ada.public
    harvested([ada.site], into, [old])
    before = shutil.copytree(ada.site, tmp_path / "before")
    renewed(ada, "next")
    for given in ([], [old]):
        [refused] = harvested([ada.site], into, given)
        assert "which is not trusted" in refused.refused
    [taken] = harvested([ada.site], into, [ada.public, old])
    assert (taken.refused, taken.found.signer) == (None, ada.public)

    shutil.rmtree(ada.site)
    shutil.copytree(before, ada.site)
    for given in ([], [old], [ada.public, old]):
        [returned] = harvested([ada.site], into, given)
        assert returned.found is None
        assert "key" in returned.refused


@pytest.mark.parametrize("revoking", [False, True])
def test_a_stolen_key_takes_nothing_over(groups, tmp_path, revoking):
    """The thief of a revoked key can neither sign nor bring in a key, whatever they revoke."""
    ada, into = groups["ada"], tmp_path / "s"
    old, folder = ada.key, shutil.copytree(ada.folder, tmp_path / "thief")
    renewed(ada, "next")
    harvested([ada.site], into, [ada.public])
    thief = Published(folder, "ada")
    renewed(thief, "theirs", revoking=revoking)
    shutil.rmtree(ada.site)
    shutil.copytree(thief.site, ada.site)
    keys_ = [[], [SigningKey.read(old).public], [ada.public], [ada.public, thief.public]]
    outcomes = [harvested([ada.site], into, given)[0] for given in keys_]
    assert [one.found for one in outcomes[:3]] == [None] * 3
    assert "not trusted" in outcomes[0].refused

    thief.key = old
    seal(thief)
    shutil.rmtree(ada.site)
    shutil.copytree(thief.site, ada.site)
    [signed_by_old] = harvested([ada.site], into, [SigningKey.read(old).public])
    assert "vouches for nothing" in signed_by_old.refused


def test_a_revocation_holds_for_every_source(groups, tmp_path):
    """A key that a trusted source revokes vouches for no other source, either."""
    ada, bob, into = groups["ada"], groups["bob"], tmp_path / "s"
    shutil.copy(ada.key, bob.folder / "shared")
    for end in (".pub", ".keys"):
        shutil.copy(f"{ada.key}{end}", f"{bob.folder / 'shared'}{end}")
    old = ada.public
    bob.key = bob.folder / "shared"
    seal(bob)
    harvested([bob.site], into, [old])
    renewed(ada, "next")
    harvested([ada.site], into, [ada.public])
    [refused] = harvested([bob.site], into, [old])

    assert "vouches for nothing" in refused.refused
    notes = []
    assert [source.name for _, source in _trusted_sources(into, (), notes)] == ["ada"]
    assert "has revoked that key" in notes[0]


def test_a_source_does_not_take_the_place_of_another(groups, tmp_path):
    """A second source with the base of the first is refused, and so is a changed base."""
    ada, bob = groups["ada"], groups["bob"]
    harvested([ada.site], tmp_path / "s")
    twin = shutil.copytree(ada.site, tmp_path / "twin")
    [refused] = harvested([twin], tmp_path / "s")
    assert "it has the base" in refused.refused
    shutil.rmtree(ada.site)
    shutil.copytree(bob.site, ada.site)
    [other] = harvested([ada.site], tmp_path / "s")
    assert "another source" in other.refused


def test_an_older_version_is_refused(groups, tmp_path):
    """An older version of a harvested source is refused."""
    ada = groups["ada"]
    before = shutil.copytree(ada.site, tmp_path / "before")
    run(ada.store, "baseline:oracle")
    ada.publish()
    harvested([ada.site], tmp_path / "s")
    shutil.rmtree(ada.site)
    shutil.copytree(before, ada.site)
    [one] = harvested([ada.site], tmp_path / "s")

    assert "version 2 was harvested before" in one.refused


@pytest.mark.parametrize("signed", [True, False])
def test_a_version_has_one_content(groups, tmp_path, signed):
    """The harvested version with other data is refused; other pages and a new key are not."""
    ada, into = groups["ada"], tmp_path / "s"
    if not signed:
        (ada.site / "signature.jsonld").unlink()
    harvested([ada.site], into, unsigned=True)
    page = ada.site / "sitemap.xml"
    page.write_text(page.read_text() + "<!-- again -->")
    renew(ada, page)
    if signed:
        seal(ada)
    [same] = harvested([ada.site], into, unsigned=True)
    assert (same.refused, same.fetched) == (None, 0)

    tampered(ada)
    if signed:
        seal(ada)
    [other] = harvested([ada.site], into, unsigned=True)
    assert "version 1 has other data" in other.refused


# --- comparability ----------------------------------------------------------------------------


def test_what_is_not_comparable_is_told(groups, tmp_path):
    """A group with another task is left out of the ranking, with the reason."""
    eve = groups["eve"]
    run(eve.store, SHARED, task="RdfFriendCount-jsonld-1")
    eve.publish()
    harvested([group.site for group in groups.values()], tmp_path / "s", keys(groups))
    rows, notes = board(tmp_path / "s")

    assert rows[SHARED]["groups"] == 2
    [told] = [note for note in notes if note.startswith("Not comparable: eve")]
    assert "has f1 of RdfFriendCount-jsonld-1" in told


def copied(ada, into):
    """Add the source bob, which has the results of ada under its own base."""
    state = json.loads((into / "ada" / "source.json").read_text())
    state |= {"name": "bob", "base": "https://bob.example.org/bench/"}
    (into / "bob").mkdir()
    (into / "bob" / "source.json").write_text(json.dumps(state))
    dump = into.parent / "copied.nq"
    with dumps.opened(ada.site / "data" / "all.nq.zst", None) as content:
        text = content.read().decode().replace("ada.example.org", "bob.example.org")
    dump.write_text(text)
    command("import", "rdf", dump, "--store", into / "bob" / "store")


def test_a_run_of_two_groups_counts_once(groups, tmp_path):
    """A run that another group publishes as well counts once, and the table says for whom."""
    into = tmp_path / "s"
    harvested([groups["ada"].site], into, keys(groups))
    alone, _ = board(into)
    copied(groups["ada"], into)
    rows, notes = board(into)

    assert rows == alone
    [note] = [note for note in notes if "Counted once" in note and "also published by bob" in note]
    assert "for ada" in note


def published(source, run, scores="1"):
    """Return a run as a source publishes it, with scores of its own."""

    class Run(PublishedRun):
        def scores(self):
            return frozenset(scores)

    return Run(source, source, f"https://{source}/graph/run/{run}", ())


@pytest.mark.parametrize(
    ("runs", "uncounted", "words"),
    [
        ([("ada", "1"), ("bob", "1"), ("eve", "1")], ["bob 1", "eve 1"], "Counted once, for ada"),
        ([("ada", "1"), ("bob", "2")], [], None),
        ([("ada", "1"), ("bob", "1", "x")], ["ada 1", "bob 1"], "with different scores"),
        (
            [("ada", "1"), ("bob", "1"), ("eve", "1", "x")],
            ["ada 1", "bob 1", "eve 1"],
            "ada and bob, eve publish with different scores",
        ),
    ],
)
def test_a_run_has_one_content(monkeypatch, runs, uncounted, words):
    """Runs with the same id are one if their scores are; else none of them counts."""
    of_source = {run[0]: published(*run) for run in runs}
    monkeypatch.setattr(leaderboard, "open_reader", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(leaderboard, "_runs", lambda _, source, __: [of_source[source]])
    notes = []
    known = [(Path(name), SimpleNamespace(name=name)) for name in of_source]
    found = leaderboard.uncounted_runs(known, notes)

    ids = {f"{name} {graph.rpartition('/')[2]}" for name, of in found.items() for graph in of}
    assert ids == set(uncounted)
    assert any(words in note for note in notes) if words else notes == []


def test_a_folder_without_sources_is_told(tmp_path):
    """The message about a folder without sources names the command that fills it."""
    with pytest.raises(ResourceError, match="kgbench harvest"):
        list(sources.all_sources(tmp_path))
