# SPDX-License-Identifier: Apache-2.0
"""Recovery of damaged stores: what can be read is kept, what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import StoreError
from kgbench.record import aggregates, recovery, stored_counts
from kgbench.secrets.fingerprints import FILE
from kgbench.store import (
    checking,
    known_keys,
    open_reader,
    open_store,
    rebuilding,
    salvage,
    snapshots,
)
from kgbench.vocab import KGB, PROV
from tests.store.damages import (
    GRAPH,
    IRIS,
    MANY,
    flip,
    named,
    things,
)

KEY = "planted-key-0123456789"
QUADS = 0.2  # where in a table: a place at which an index has quads


def test_a_damaged_index_loses_nothing(place, tmp_path):
    """What a block of one index held is read from another; only a block of texts loses some."""
    # When the engine merges tables is a matter of chance. In a merged one the quads come first, and
    # filters, which this reading does not need, are more than half.
    ox.Store(str(place / "data")).optimize()
    lost = []
    for table in sorted((place / "data").glob("*.sst")):
        flip(table, QUADS)
        with (tmp_path / "out.nq").open("wb") as out:
            found = salvage.read(place / "data", out)
        got = {one for one in (tmp_path / "out.nq").read_text().splitlines() if PROV.value in one}
        if found.graphs and GRAPH not in found.whole:
            lost.append(2 * MANY - len(got))
        flip(table, QUADS)
    assert 0 in lost
    assert max(lost) < MANY / 20


@pytest.mark.declared
def test_what_is_damaged_is_recovered_and_listed(tmp_path, monkeypatch):
    """Dialogues that are not whole are left out with their evaluations, and asked again."""
    place = tmp_path / "s"
    small = ["run", "--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle"]
    small += ["-n", "3", "--executor", "local:1", "--json"]
    assert CliRunner().invoke(app, [*small, "--store", str(place)]).exit_code == 0
    read = salvage.salvage

    def hurting(folder: Path, file: Path) -> salvage.SalvageResult:
        """One answer's text cannot be read."""
        found = read(folder, file)
        graph = next((name for name in found.whole if "/graph/run/" in name), None)
        if graph is None:  # an older snapshot, from before the run
            return found
        lines = file.read_text().splitlines()
        text = next(line.split()[2] for line in lines if f"<{KGB.text}>" in line and "/1-" in line)
        kept = [line for line in lines if not line.startswith(text)]
        file.write_text("\n".join(kept) + "\n")
        return salvage.SalvageResult(found.whole - {graph}, {graph: {text.strip("<>")}})

    monkeypatch.setattr(rebuilding, "salvage", hurting)
    new = tmp_path / "new"
    done = CliRunner().invoke(app, ["store", "recover", str(new), "--store", str(place), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    monkeypatch.undo()

    assert [(one["dialogue"].rpartition("/")[2][:2], one["turns"]) for one in said["missing"]] == [
        ("1-", [0])
    ]
    assert checking.check(new).problems == []
    with open_store(str(new)) as owned:  # not even the counts have the dialogue that is missing
        assert len(stored_counts.graphs(owned)) == len(aggregates.check(owned).right) == 1
        kept = list(stored_counts.graphs(owned).values())
        assert sum(times for _, times in stored_counts.outcomes(owned, kept)) == 2
    again = CliRunner().invoke(app, [*small, "--store", str(new)])
    assert json.loads(again.output)["complete"] == 3
    with open_reader(str(new)) as reader:
        rows = list(reader.query(f"SELECT ?c WHERE {{ GRAPH ?g {{ ?c a <{KGB.ModelCall}> }} }}"))
    assert len(rows) == 3


@pytest.mark.declared
def test_an_answer_without_its_evaluation_is_asked_again(tmp_path, monkeypatch):
    """An evaluation that left no trace is missed by the answer that it was about."""
    place = tmp_path / "s"
    small = ["run", "--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle"]
    small += ["-n", "3", "--executor", "local:1", "--json"]
    assert CliRunner().invoke(app, [*small, "--store", str(place)]).exit_code == 0
    read = salvage.salvage

    def lacking(folder: Path, file: Path) -> salvage.SalvageResult:
        found = read(folder, file)
        graph = next((name for name in found.whole if "/graph/pass/" in name), None)
        if graph is None:
            return found
        lines = file.read_text().splitlines()
        kept = [line for line in lines if not ("/pass/" in line.split()[0] and "/2-" in line)]
        assert len(kept) < len(lines)
        file.write_text("\n".join(kept) + "\n")
        return salvage.SalvageResult(found.whole - {graph}, {graph: set()})

    monkeypatch.setattr(rebuilding, "salvage", lacking)
    with open_store(str(tmp_path / "new")) as target:
        done = recovery.recover(place, target)
    assert [one.dialogue.rpartition("/")[2][:2] for one in done.missing] == ["2-"]


def test_lost_entries_are_made_again(place, tmp_path, monkeypatch):
    """A run whose registry entry cannot be read is found by its graph."""
    read = salvage.salvage

    def lacking(folder: Path, file: Path) -> salvage.SalvageResult:
        found = read(folder, file)
        lines = file.read_text().splitlines()
        kept = [line for line in lines if not line.startswith(f"<{GRAPH}>")]
        file.write_text("\n".join(kept) + "\n")
        return salvage.SalvageResult(found.whole - {IRIS.catalogue}, {IRIS.catalogue: {GRAPH}})

    monkeypatch.setattr(rebuilding, "salvage", lacking)
    with open_store(str(tmp_path / "new")) as target:
        recovery.recover(place, target)
    with open_reader(str(tmp_path / "new")) as reader:
        assert things(reader) == 2 * MANY


def test_parts_that_cannot_be_opened_are_named(place, tmp_path):
    """Where the newest parts cannot be opened, the older snapshot is recovered, which is said."""
    (place / "data" / "CURRENT").unlink()
    newest = snapshots.newest(place / "snapshots")
    (newest / "CURRENT").unlink()
    done = CliRunner().invoke(
        app, ["store", "recover", str(tmp_path / "new"), "--store", str(place)]
    )
    assert done.exit_code == 0, done.output
    assert f"unread   owner's files, {named(newest)}" in done.output
    with open_reader(str(tmp_path / "new")) as reader:
        assert 0 < things(reader) <= 2 * MANY


def test_nothing_is_recovered_from_nothing(place, tmp_path):
    """Where nothing can be read this is said; nor does recovery write where something is."""
    for folder in (place / "data", *snapshots.all_of(place / "snapshots")):
        (folder / "CURRENT").unlink()
    done = CliRunner().invoke(app, ["store", "recover", str(place), "--store", str(place)])
    assert isinstance(done.exception, StoreError)
    assert "exists: name a new folder" in str(done.exception)
    with (
        open_store(str(tmp_path / "new")) as target,
        pytest.raises(StoreError, match=r"nothing of the store .* can be read"),
    ):
        recovery.recover(place, target)


def test_fingerprints_of_keys_are_recovered(place, tmp_path):
    """The recovered store looks for the same keys; a damaged file of them hinders no recovery."""
    known_keys.note(str(place), [KEY])
    new = tmp_path / "new"
    done = CliRunner().invoke(app, ["store", "recover", str(new), "--store", str(place)])
    assert done.exit_code == 0, done.output
    assert known_keys.echoes(str(new)).tells(KEY)

    (place / FILE).write_bytes(b"{")
    other = tmp_path / "other"
    done = CliRunner().invoke(app, ["store", "recover", str(other), "--store", str(place)])
    assert done.exit_code == 0, done.output
    assert "without the fingerprints of keys" in done.stderr
    assert not (other / FILE).exists()


def test_a_store_in_use_is_not_recovered(place, tmp_path):
    """Recovery reads files that must not change meanwhile."""
    with open_store(str(place)):
        done = CliRunner().invoke(
            app, ["store", "recover", str(tmp_path / "new"), "--store", str(place)]
        )
    assert "is in use by process" in str(done.exception)
    assert not (tmp_path / "new").exists()
