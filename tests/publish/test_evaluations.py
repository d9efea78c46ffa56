# SPDX-License-Identifier: Apache-2.0
"""The evaluations behind tables, listed with their runs, and the figures of tables."""

from __future__ import annotations

import gzip
import json

import pyoxigraph as ox
import pytest

from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import select
from kgbench.publish import drawings, evaluation_lists, workers
from kgbench.publish.folder import STATE
from kgbench.record import invalidation, reading, stored_counts
from kgbench.store import open_reader, open_store
from kgbench.vocab import KGB, PROV, RDF
from tests.publish.conftest import addresses, command, publish
from tests.publish.reading import load, unpacked

pytestmark = pytest.mark.usefixtures("quick")
EVALUATIONS = "leaderboard/kgbench-1-evaluations.nt.zst"


@pytest.fixture
def judged(tmp_path):
    """Return a store with two models, a second pass, and an invalid dialogue."""
    place = tmp_path / "store"
    chosen = ["-m", "baseline:oracle", "-m", "baseline:silent", "-t", "RdfFriendCount-turtle-1"]
    command("run", "--store", place, *chosen, "--iterations", "3")
    command("reevaluate", "--store", place)
    with open_store(str(place)) as store:
        (run,) = reading.runs(store)
        execution = reading.executions(store, run.graph)[0]
        dialogues = reading.execution_dialogues(store, run.graph, execution, run.iri)
        invalidation.invalidate(store, next(iter(dialogues)).iri, "a wrong key", "A. Person")
    return place


def members(site):
    """Return the evaluations behind the tables, with the number of their collections."""
    counts = {}
    for quad in ox.parse(unpacked(site / EVALUATIONS), ox.RdfFormat.N_TRIPLES):
        assert quad.predicate.value == PROV.hadMember
        counts[quad.object.value] = counts.get(quad.object.value, 0) + 1
    return counts


def test_collections_have_the_evaluations_that_count(judged, tmp_path):
    """They have those of the first pass, without those of invalid dialogues, all with a count."""
    out = tmp_path / "site"
    publish(judged, out)
    published = addresses(judged).published
    with open_reader(str(judged)) as store:
        metrics = {task.main_metric for task in fetch.tasks(store).values()} - {None}
        rows = list(fetch.score_rows(store, select(store), metrics))
    found = members(out)
    assert len({row.dialogue for row in rows}) == 5
    assert set(found) >= {published(row.evaluation) for row in rows}
    of_rows = {published(row.dialogue) for row in rows}
    assert {iri.partition("-evaluation-")[0].rpartition("-")[0] for iri in found} == of_rows
    described = ox.Store()
    load(described, out / "leaderboard" / "kgbench-1.ttl")
    kind, collection = (ox.NamedNode(iri) for iri in (RDF.type, PROV.Collection))
    counts = [
        int(count.object.value)
        for quad in described.quads_for_pattern(None, kind, collection)
        for count in described.quads_for_pattern(quad.subject, ox.NamedNode(KGB["count"]), None)
    ]
    assert sum(counts) == sum(found.values())


def test_a_run_without_its_list_is_made_again(judged, tmp_path):
    """A list that is gone is written again; a run that is gone takes its list along."""
    out = tmp_path / "site"
    publish(judged, out)
    (listed,) = (out / STATE).glob("evaluations-*.tsv.gz")
    content, before = listed.read_bytes(), members(out)
    assert content
    listed.unlink()
    publish(judged, out)
    assert listed.read_bytes() == content
    assert members(out) == before
    command("run", "--store", judged, "--new", "-m", "baseline:silent", "-t", "RdfFriendCount*1")
    publish(judged, out)
    assert len(list((out / STATE).glob("evaluations-*.tsv.gz"))) == 2
    with open_store(str(judged)) as store:
        gone = listed.name.removeprefix("evaluations-run-").removesuffix(".tsv.gz")
        kept = next(run for run in reading.runs(store) if run.id != gone)
    publish(judged, out, runs=(kept.id,))
    assert [path.name for path in (out / STATE).glob("evaluations-*.tsv.gz")] == [
        f"evaluations-run-{kept.id}.tsv.gz"
    ]


def test_evaluations_are_read_as_written(tmp_path):
    """A line has all fields; an evaluation of the whole dialogue has no round."""
    (tmp_path / STATE).mkdir()
    path = tmp_path / STATE / "evaluations-run-1.tsv.gz"
    lines = "urn:e\turn:p\turn:m\turn:t\t\turn:a urn:b\nurn:f\turn:p\turn:m\turn:t\t2\t\n"
    path.write_bytes(gzip.compress(lines.encode()))
    folder = evaluation_lists.Folder(tmp_path)
    whole, answer = evaluation_lists.read(folder, "run-1")
    folder.close()
    assert whole == ("urn:e", "urn:p", "urn:m", "urn:t", None, ["urn:a", "urn:b"])
    assert answer == ("urn:f", "urn:p", "urn:m", "urn:t", 2, [])


def test_tables_from_counts_are_those_from_evaluations(judged, tmp_path, monkeypatch):
    """All files are the same, with the texts of queries, which read evaluations only."""

    def files(out):
        publish(judged, out)
        return {
            path.relative_to(out): path.read_bytes()
            for path in out.rglob("*")
            if path.is_file() and STATE not in path.parts
        }

    with open_reader(str(judged)) as store:
        assert stored_counts.graphs(store)
    from_counts = files(tmp_path / "counts")
    monkeypatch.setattr(stored_counts, "graphs", lambda _: {})
    assert files(tmp_path / "evaluations") == from_counts
    texts = [path.stem for path in from_counts if path.parts[0] == "queries" and "-" in path.stem]
    assert any(name.startswith("score-rows-") for name in texts)
    executed = ("counted-", "uncounted-", "list-aggregates-")
    digests = [name for name in texts if len(name.rpartition("-")[2]) == 10]
    assert not [name for name in digests if name.startswith(executed)]


def test_figures_show_the_best_models(judged, tmp_path, monkeypatch):
    """A figure of many models shows the best and says so; its numbers have all."""
    monkeypatch.setattr(workers, "figures", drawings.figures)
    monkeypatch.setattr(drawings, "_MOST_DRAWN", 1)
    out = tmp_path / "site"
    publish(judged, out)
    drawn = (out / "figures" / "kgbench-1-leaderboard.svg").read_text(encoding="utf-8")
    numbers = json.dumps(
        json.loads((out / "figures" / "kgbench-1-leaderboard.json").read_text(encoding="utf-8"))
    )
    assert "oracle" in drawn
    assert "silent" not in drawn
    assert "the 1 best models" in drawn
    assert "silent" in numbers
