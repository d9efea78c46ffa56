# SPDX-License-Identifier: Apache-2.0
"""Recovery of damaged stores: readable content is kept, missing content is named."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.engine.replies import ReplyLog
from kgbench.errors import StoreError
from kgbench.record import recovery
from kgbench.store import examination, open_reader, open_store, snapshots
from kgbench.store.back_ends import REPLY_LOG, reply_log
from kgbench.store.publication_keys import FILE, publication_key
from kgbench.vocab import KGB, PROV
from tests.store.damages import (
    GRAPH,
    IRIS,
    MANY,
    flip,
    named,
    things,
)

QUADS = 0.2  # relative position in a table at which an index has quads


def test_a_damaged_index_loses_nothing(place, tmp_path):
    """A damaged block of an index is read from another index; only a block of texts is lost."""
    # The time at which the engine merges tables varies. In a merged table the quads come first, and
    # filters, which this reading does not need, are more than half.
    ox.Store(str(place / "data")).optimize()
    lost = []
    for table in sorted((place / "data").glob("*.sst")):
        flip(table, QUADS)
        with (tmp_path / "out.nq").open("wb") as out:
            found = examination.read(place / "data", out)
        got = {one for one in (tmp_path / "out.nq").read_text().splitlines() if PROV.value in one}
        if GRAPH in found.hurt:
            lost.append(2 * MANY - len(got))
        flip(table, QUADS)
    assert 0 in lost
    assert max(lost) < MANY / 20


@pytest.mark.declared
def test_what_is_damaged_is_recovered_and_listed(tmp_path, monkeypatch):
    """Incomplete dialogues are left out with their evaluations, and asked again."""
    place = tmp_path / "s"
    small = ["run", "--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle"]
    small += ["-n", "3", "--executor", "local:1", "--json"]
    assert CliRunner().invoke(app, [*small, "--store", str(place)]).exit_code == 0
    read = examination.examine

    def hurting(folder: Path, file: Path) -> examination.Examination:
        """Make the text of one answer unreadable."""
        found = read(folder, file)
        graph = next(name for name in found.graphs if "/graph/run/" in name)
        lines = file.read_text().splitlines()
        text = next(line.split()[2] for line in lines if f"<{KGB.text}>" in line and "/1-" in line)
        kept = [line for line in lines if not line.startswith(text)]
        file.write_text("\n".join(kept) + "\n")
        return examination.Examination(graphs=found.graphs, hurt={graph: [text.strip("<>")]})

    monkeypatch.setattr(examination, "examine", hurting)
    new = tmp_path / "new"
    done = CliRunner().invoke(app, ["store", "recover", str(new), "--store", str(place), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    monkeypatch.undo()

    assert [(one["dialogue"].rpartition("/")[2][:2], one["turns"]) for one in said["missing"]] == [
        ("1-", [0])
    ]
    assert examination.check(new).problems == []
    again = CliRunner().invoke(app, [*small, "--store", str(new)])
    assert json.loads(again.output)["complete"] == 3
    with open_reader(str(new)) as reader:
        rows = list(reader.query(f"SELECT ?c WHERE {{ GRAPH ?g {{ ?c a <{KGB.ModelCall}> }} }}"))
    assert len(rows) == 3


@pytest.mark.declared
def test_an_answer_without_its_evaluation_is_asked_again(tmp_path, monkeypatch):
    """An answer whose evaluation was lost entirely is detected and asked again."""
    place = tmp_path / "s"
    small = ["run", "--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle"]
    small += ["-n", "3", "--executor", "local:1", "--json"]
    assert CliRunner().invoke(app, [*small, "--store", str(place)]).exit_code == 0
    read = examination.examine

    def lacking(folder: Path, file: Path) -> examination.Examination:
        found = read(folder, file)
        graph = next(name for name in found.graphs if "/graph/pass/" in name)
        lines = file.read_text().splitlines()
        kept = [line for line in lines if not ("/pass/" in line.split()[0] and "/2-" in line)]
        assert len(kept) < len(lines)
        file.write_text("\n".join(kept) + "\n")
        return examination.Examination(graphs=found.graphs, hurt={graph: []})

    monkeypatch.setattr(examination, "examine", lacking)
    with open_store(str(tmp_path / "new")) as target:
        done = recovery.recover(place, target)
    assert [one.dialogue.rpartition("/")[2][:2] for one in done.missing] == ["2-"]


def test_lost_entries_are_made_again(place, tmp_path, monkeypatch):
    """A run whose registry entry is unreadable is found by its graph."""
    read = examination.examine

    def lacking(folder: Path, file: Path) -> examination.Examination:
        found = read(folder, file)
        lines = file.read_text().splitlines()
        kept = [line for line in lines if not line.startswith(f"<{GRAPH}>")]
        file.write_text("\n".join(kept) + "\n")
        return examination.Examination(graphs=found.graphs, hurt={IRIS.catalogue: [GRAPH]})

    monkeypatch.setattr(examination, "examine", lacking)
    with open_store(str(tmp_path / "new")) as target:
        recovery.recover(place, target)
    with open_reader(str(tmp_path / "new")) as reader:
        assert things(reader) == 2 * MANY


def test_parts_that_cannot_be_opened_are_named(place, tmp_path):
    """If the newest files cannot be opened, the older snapshot is recovered, with a message."""
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


def test_the_files_are_recovered_of_which_most_can_be_read(place, tmp_path, monkeypatch):
    """An older snapshot is recovered if less of the owner's files can be read; those are named."""

    def examine(folder, file):
        is_data = folder.name == "data"
        lines = [f'<urn:a> <urn:b> "{n}" <urn:g> .' for n in range(1 if is_data else 3)]
        file.write_text("\n".join(lines))
        if is_data:
            return examination.Examination(damage=["a block"], hurt={"urn:g": ["urn:a"]})
        return examination.Examination(graphs={"urn:g": (3, "")})

    monkeypatch.setattr(examination, "examine", examine)
    newest = snapshots.newest(place / "snapshots")
    found = recovery._read(place, tmp_path)
    assert (found.source, found.unread, found.hurt) == (named(newest), ["owner's files"], {})


def test_nothing_is_recovered_from_nothing(place, tmp_path):
    """Recovery fails if nothing is readable, and never writes into an existing store."""
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


def test_the_key_of_publications_and_replies_are_recovered(place, tmp_path):
    """They lie beside the data; a damaged file of the key does not prevent recovery."""
    key = publication_key(str(place)).key
    log = ReplyLog(reply_log(str(place)))
    log.append("urn:turn", b"{}")
    log.close()
    new = tmp_path / "new"
    done = CliRunner().invoke(app, ["store", "recover", str(new), "--store", str(place)])
    assert done.exit_code == 0, done.output
    assert publication_key(str(new)).key == key
    assert (new / REPLY_LOG).read_bytes() == b"{}\n"
    assert (new / REPLY_LOG).stat().st_mode & 0o777 == 0o600

    (place / FILE).write_bytes(b"{")
    other = tmp_path / "other"
    done = CliRunner().invoke(app, ["store", "recover", str(other), "--store", str(place)])
    assert done.exit_code == 0, done.output
    assert "without the key of publications" in done.stderr
    assert not (other / FILE).exists()


def test_a_store_in_use_is_not_recovered(place, tmp_path):
    """Recovery refuses a store in use, because its files may change."""
    with open_store(str(place)):
        done = CliRunner().invoke(
            app, ["store", "recover", str(tmp_path / "new"), "--store", str(place)]
        )
    assert "is in use by process" in str(done.exception)
    assert not (tmp_path / "new").exists()
