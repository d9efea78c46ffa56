# SPDX-License-Identifier: Apache-2.0
"""Publishing again writes changes, removes obsolete files, and touches nothing else."""

from __future__ import annotations

import multiprocessing
import os
import shutil

import pyoxigraph as ox
import pytest

from kgbench.errors import PublicationRefused
from kgbench.publish import site, workers
from kgbench.publish.folder import STATE, claimed
from kgbench.publish.results import figures
from kgbench.publish.settings import Settings
from kgbench.record import invalidation, reading
from kgbench.software import Software
from kgbench.store import open_store
from kgbench.vocab import DCAT, KGB, PROV, RDF, RDFS, XSD
from tests.publish.conftest import ABOUT, BASE, command, publish, publish_site
from tests.publish.reading import dump, load
from tests.serve import stores
from tests.support.stores import copied

pytestmark = pytest.mark.usefixtures("quick")
LONG_AGO = 1_000_000_000
SECOND = ["--new", "-m", "baseline:silent", "-t", "RdfFriendCount-turtle-1"]


@pytest.fixture
def growing(single, tmp_path):
    """Return a store with one small run, and a folder for its publication."""
    return copied(single, tmp_path / "store"), tmp_path / "site"


def _age(folder):
    """Set all files to an old time and return their contents."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and STATE not in path.parts:
            os.utime(path, (LONG_AGO, LONG_AGO))
            found[path.relative_to(folder)] = path.read_bytes()
    return found


def _touched(folder):
    files = (p for p in folder.rglob("*") if p.is_file() and STATE not in p.parts)
    return {p.relative_to(folder) for p in files if p.stat().st_mtime != LONG_AGO}


def test_only_what_changed_is_written(growing):
    """A repeated publication writes nothing; a new run adds its files; its removal removes them."""
    place, out = growing
    first = publish(place, out)
    before = _age(out)
    (out / "CNAME").write_text("example.org", encoding="utf-8")
    os.utime(out / "CNAME", (LONG_AGO, LONG_AGO))

    again = publish(place, out)
    assert (again.changed, again.removed, again.version) == (0, 0, first.version)
    assert _touched(out) == set()

    command("run", "--store", place, *SECOND)
    more = publish(place, out)
    touched = {str(path) for path in _touched(out)}
    runs = {path.name for path in (out / "run").iterdir() if path.is_dir()}
    (old,) = {path.parts[1] for path in before if path.parts[0] == "run" and len(path.parts) > 3}
    (new,) = runs - {old}
    dialogues = [p for p in touched if p.startswith(f"run/{old}/") and p.count("/") > 4]
    assert more.version == first.version + 1
    assert not dialogues
    assert not [path for path in touched if path.startswith(f"data/run-{old}")]
    assert any(path.startswith(f"run/{new}/") for path in touched)
    assert {"index.html", "catalog.ttl", "data/all.nq.zst", "leaderboard/index.html"} <= touched
    assert "static/style.css" not in touched
    whole = dump(out, "all.nq")
    assert len(whole) == more.triples
    catalog = ox.Store()
    load(catalog, out / "catalog.ttl")
    before_it = catalog.quads_for_pattern(None, ox.NamedNode(DCAT.previousVersion), None)
    assert {quad.object.value for quad in before_it} == {f"{BASE}version/1"}
    assert (out / "version" / "1" / "index.html").is_file()

    fewer = publish(place, out, runs=(old,))
    assert fewer.removed > 5
    assert not (out / "run" / new).exists()
    assert (out / "CNAME").read_text(encoding="utf-8") == "example.org"


def test_an_invalidation_is_shown(growing):
    """An invalidated dialogue says so on its page, with the reason."""
    place, out = growing
    publish(place, out)
    with open_store(str(place)) as store:
        invalidation.invalidate(store, reading.runs(store)[0].id, "a wrong key", "A. Person")
    publish(place, out)
    pages = list((out / "run").glob("*/*/RdfFriendCount-turtle-1/index.html"))
    assert pages
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert "This dialogue is not counted" in text
        assert "a wrong key" in text


def test_software_of_an_analysis_alone_is_found(growing, monkeypatch):
    """Software that made only a table has a document, although it is in the table's graph."""
    place, out = growing
    monkeypatch.setattr("kgbench.software.this_software", lambda: Software("kgbench", "0.0.9"))
    command("analyze", "leaderboard", "--keep", "--store", place)
    publish(place, out)
    assert "0.0.9" in (out / "software" / "index.html").read_text(encoding="utf-8")


def test_what_is_not_ours_is_left_alone(growing, tmp_path):
    """A folder with other files is refused, and nothing is written there."""
    place, _ = growing
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(PublicationRefused, match="was not made by kgbench publish"):
        publish(place, other)
    assert [path.name for path in other.iterdir()] == ["cat.jpg"]
    with pytest.raises(PublicationRefused, match="is a file"):
        publish(place, other / "cat.jpg")


@pytest.mark.parametrize("linked", ["run", "data", STATE, f"{STATE}/owner", "index.html"])
def test_no_file_is_changed_through_a_link(growing, tmp_path, linked):
    """A folder with a link, as others may send it, is refused, and the link's target kept."""
    place, out = growing
    publish(place, out)
    target = tmp_path / "elsewhere"
    (out / linked).rename(target)
    (out / linked).symlink_to(target)
    command("run", "--store", place, *SECOND)
    (run, *_) = sorted(path.name for path in (out / "run").iterdir() if path.is_dir())
    before = [(path, path.stat().st_mtime_ns) for path in (target, *target.rglob("*"))]
    files = [(path, path.stat().st_mtime_ns) for path in out.rglob("*")]

    with pytest.raises(PublicationRefused, match=f"{linked} is a symbolic link, but a publicat"):
        publish(place, out, runs=(run,))
    assert [(path, path.stat().st_mtime_ns) for path in (target, *target.rglob("*"))] == before
    assert [(path, path.stat().st_mtime_ns) for path in out.rglob("*")] == files


def test_what_was_killed_is_repaired(growing, monkeypatch):
    """An interrupted publication is repaired by the next one."""
    place, out = growing
    publish(place, out)
    whole = _age(out)
    command("run", "--store", place, *SECOND)

    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(site, "_write_things", killed)
        with pytest.raises(Killed):
            publish(place, out)
    assert list((out / STATE).glob("journal-*"))
    strays = set((out / "run").glob("*/*silent*"))
    assert strays

    # The new run is no longer published, so its files are removed.
    (old,) = {path.parts[1] for path in whole if path.parts[0] == "run" and len(path.parts) > 3}
    report = publish(place, out, runs=(old,))
    assert report.removed > 0
    assert not [p for p in strays if p.exists()]
    assert not list((out / STATE).glob("journal-*"))
    assert {p for p in whole if p.parts[0] == "run"} == {
        p.relative_to(out) for p in (out / "run").rglob("*") if p.is_file()
    }


def test_files_that_were_lost_come_back(growing):
    """Removed files, and those in the journal of an interrupted publication, are written again."""
    place, out = growing
    publish(place, out)
    before = _age(out)
    shutil.rmtree(out / "model")
    (out / "index.html").unlink()
    spoilt = next((out / "run").glob("*/*/*/index.html"))
    spoilt.write_text("half a page", encoding="utf-8")
    (out / STATE / "journal-killed").write_text(f"{spoilt.relative_to(out)}\n", encoding="utf-8")
    publish(place, out)
    after = {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert {path: after[path] for path in before} == before


def test_changed_files_are_made_again(growing):
    """Files of unchanged runs and pages that were damaged or changed by others are repaired."""
    place, out = growing
    publish(place, out)
    before = _age(out)
    spoilt = [
        next(out.glob(pattern))
        for pattern in ("run/*/*/*/index.html", "data/run-*.nq.zst", "model/*/index.html")
    ]
    for path in spoilt:
        path.write_bytes(path.read_bytes()[:-1] + b"~")
    publish(place, out)
    assert [path for path in spoilt if path.read_bytes() != before[path.relative_to(out)]] == []


def test_processes_make_the_same(growing, tmp_path, monkeypatch):
    """Two processes write the same bytes as one."""
    place, out = growing
    monkeypatch.setattr(workers, "_FEW", 0)
    monkeypatch.setattr(site, "figures", figures)  # as other processes draw them
    publish(place, out, processes=2)
    publish(place, tmp_path / "one", processes=1)

    def files(folder):
        return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.*") if p.is_file()}

    one, two = files(tmp_path / "one"), files(out)
    assert {p for p in one if STATE not in p.parts} == {p for p in two if STATE not in p.parts}
    assert [p for p, data in one.items() if data != two[p] and STATE not in p.parts] == []


def test_two_at_once_are_refused(growing):
    """A second simultaneous publication to a folder is refused."""
    place, out = growing
    with claimed(out), pytest.raises(PublicationRefused, match="another process"):
        publish(place, out)


def test_iris_that_are_no_paths(tmp_path):
    """Resources with IRIs that are no valid paths in the folder are written elsewhere."""
    label = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
    names = ("../../escape", "run/../../x", "a?b=c", "model/" + "x" * 300, "data/all", "m/a.ttl/b")
    names += ("model/%0A", "model/a%E2%80%A8b", "model/a%C2%85b", "model/%E2%80%AEx")
    names += ("model/%FF", "model/%FE")  # different bytes that are not UTF-8
    subjects = [ox.NamedNode(f"https://w3id.org/kgbench/{name}") for name in names]
    extra = [
        ox.Quad(s, label, ox.Literal("a thing"), ox.NamedNode(f"{stores.BASE}graph/catalogue"))
        for s in subjects
    ]
    place = stores.make(tmp_path / "store", extra=extra)
    out = tmp_path / "deep" / "site"
    publish(place, out, runs=("1",))
    assert {p.name for p in tmp_path.iterdir()} == {"store", "deep"}
    assert {p.name for p in (tmp_path / "deep").iterdir()} == {"site"}
    pages = list((out / "thing").glob("*/index.html"))
    assert len(pages) >= len(names) - 1  # all but the one of the kind ``m``
    listed = (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert all((out / line[66:]).is_file() for line in listed)


def test_an_interruption_ends_all_processes(growing, monkeypatch):
    """Ctrl-C ends the worker processes as well; publishing again completes the publication."""
    place, out = growing
    monkeypatch.setattr(workers, "_FEW", 0)
    before = set(multiprocessing.active_children())

    def interrupted(*_):
        raise KeyboardInterrupt

    settings = Settings(str(place), out, BASE, metadata=ABOUT, processes=2)
    with pytest.raises(KeyboardInterrupt):
        publish_site(settings, interrupted)
    assert set(multiprocessing.active_children()) <= before
    report = publish(place, out)
    assert len(dump(out, "all.nq")) == report.triples


def test_runs_that_began_together(tmp_path):
    """Two runs with the same start are both published."""
    run, graph = (ox.NamedNode(f"{stores.BASE}{path}") for path in ("run/9", "graph/run/9"))
    catalogue = ox.NamedNode(f"{stores.BASE}graph/catalogue")
    began = ox.Literal("2026-11-20T12:00:00Z", datatype=ox.NamedNode(XSD.dateTime))
    suite = ox.NamedNode(f"{stores.BASE}suite/kgbench-1")
    extra = [
        ox.Quad(run, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Run), graph),
        ox.Quad(run, ox.NamedNode(RDFS.label), ox.Literal("another"), graph),
        ox.Quad(run, ox.NamedNode(KGB.suite), suite, graph),
        ox.Quad(run, ox.NamedNode(PROV.startedAtTime), began, graph),
        ox.Quad(graph, ox.NamedNode(RDF.type), ox.NamedNode(KGB.ResultGraph), catalogue),
        ox.Quad(graph, ox.NamedNode(KGB.describes), run, catalogue),
    ]
    place = stores.make(tmp_path / "store", extra=extra)
    report = publish(place, tmp_path / "site", runs=(f"{stores.BASE}run/1", run.value))
    assert report.runs == 2
