# SPDX-License-Identifier: Apache-2.0
"""Damaged stores: readers use an older snapshot, queries end, checks report the damage."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import StoreError
from kgbench.store import Block, copying, examination, open_reader, open_store, snapshots
from kgbench.store.databases import Damaged
from tests.store.damages import (
    GRAPH,
    IRIS,
    MANY,
    flip,
    named,
    own_file,
    remove,
    things,
    triples,
)

# --- readers --------------------------------------------------------------------------------


def test_a_damaged_snapshot_is_passed_over(place, caplog):
    """A reader uses the older snapshot if the newest is damaged, and logs a warning."""
    newest, older = snapshots.all_of(place / "snapshots")
    flip(own_file(newest, older))
    with open_reader(str(place)) as reader:
        assert 0 < things(reader) <= MANY
        assert reader.snapshot == older
    assert f"the snapshot {newest} is damaged" in caplog.text


def test_a_damaged_table_is_refused_by_the_owner(place):
    """A writer does not open damaged tables: a query over them may never end."""
    flip(next((place / "data").glob("*.sst")))
    with pytest.raises(Damaged, match=r"sst has changed since it was written; `kgbench store"):
        open_store(str(place))


def test_a_noted_damage_is_passed_over(place):
    """Damage that a reader finds while it reads is recorded for the next reader."""
    newest, older = snapshots.all_of(place / "snapshots")

    def read_on() -> None:
        with open_reader(str(place)):
            raise RuntimeError("Corruption: block checksum mismatch")

    with pytest.raises(Damaged, match=r"Corruption.*store check.*store recover"):
        read_on()
    with open_reader(str(place)) as reader:
        assert reader.snapshot == older
    assert snapshots.damage(newest) == "Corruption: block checksum mismatch"


def test_errors_that_are_no_damage_stay_as_they_are(place):
    """A broken pipe or a bug while a store is open is not recorded as damage."""
    for error in (BrokenPipeError(32, "Broken pipe"), RuntimeError("set changed size")):
        with pytest.raises(type(error)), open_reader(str(place)):
            raise error
    assert not list((place / "snapshots").glob("*.damaged"))


def test_a_store_without_a_good_snapshot_says_what_to_do(place):
    """If all snapshots are damaged, the error names ``kgbench store recover``."""
    for snapshot in snapshots.all_of(place / "snapshots"):
        (snapshot / "CURRENT").unlink()
    with pytest.raises(StoreError, match=r"every snapshot .* is damaged: `kgbench store recover"):
        open_reader(str(place))


def test_an_owner_with_damaged_files_says_what_to_do(place):
    """A store whose own files are damaged cannot be opened, and its lock is released."""
    (place / "data" / "CURRENT").write_text("nothing")
    for _ in range(2):
        with pytest.raises(Damaged, match=r"cannot be read or written: .*store recover"):
            open_store(str(place))


def test_a_removed_store_ends_with_words(place):
    """A removed folder is an error at the next write, and on closing."""
    store = open_store(str(place))
    remove(place)
    with pytest.raises(StoreError, match="was removed or replaced while it was open"):
        store.write([Block(GRAPH, triples(1, 9 * MANY))])
    with pytest.raises(StoreError, match="was removed or replaced while it was open"):
        store.close()
    store.close()


# --- checking -------------------------------------------------------------------------------


def test_a_sound_store_is_said_to_be_sound(place):
    """A check of a sound store reads all parts, and counts its graphs."""
    found = examination.check(place)
    assert found.problems == []
    newest, older = map(named, snapshots.all_of(place / "snapshots"))
    assert list(found.parts) == ["owner's files", newest, older]
    assert found.graphs == 1
    assert found.digests.keys() == {GRAPH, IRIS.catalogue}
    assert examination.read(place / "data").damage == []


@pytest.mark.parametrize("part", ["data", "newest", "older"])
def test_damage_anywhere_is_found(place, part):
    """A flipped bit in the owner's files or in any snapshot is found."""
    newest, older = snapshots.all_of(place / "snapshots")
    folder = {"data": place / "data", "newest": newest, "older": older}[part]
    flip(own_file(folder))
    done = CliRunner().invoke(app, ["store", "check", "--store", str(place), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.output)["problems"]


def test_a_missing_file_is_found(place):
    """A missing table is a problem that names the file."""
    newest, older = snapshots.all_of(place / "snapshots")
    table = own_file(newest, older)
    table.unlink()
    problems = examination.check(place).problems
    assert f"{named(newest)}: {table.name} is missing" in problems


def test_a_store_in_use_is_not_said_to_be_sound(place):
    """A check of a store in use says that it skips the owner's files."""
    with open_store(str(place)):
        done = CliRunner().invoke(app, ["store", "check", "--store", str(place)])
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == (
        "every snapshot is sound; the writer's own files were not checked"
    )
    assert "owner's files" not in done.output


def test_a_child_that_does_not_come_to_its_end_is_a_finding(place, monkeypatch):
    """An examination that exceeds its limit of time or memory is a problem."""
    monkeypatch.setattr(examination, "MEMORY", 1 << 20)
    (words,) = examination.examine(place / "data").damage
    assert "reading it ended with" in words
    monkeypatch.setattr(examination, "_SECONDS", 0.0)
    monkeypatch.setattr(examination, "_PER_BYTE", 0.0)
    (words,) = examination.examine(place / "data").damage
    assert "took more than 0 seconds" in words


def test_checksums_that_cannot_be_read_prove_nothing(place):
    """Unreadable checksums do not make a snapshot damaged; it is examined instead."""
    newest = snapshots.newest(place / "snapshots")
    snapshots.sums_path(newest).write_text("{")
    assert snapshots.read_checksums(newest) is None
    assert snapshots.damage(newest) is None
    assert examination.check(place).problems == []


# --- backups --------------------------------------------------------------------------------


def test_a_backup_that_came_out_otherwise_is_not_kept(place, tmp_path, monkeypatch):
    """A backup is read back after writing; a difference is an error, and the file is removed."""
    write = copying._write

    def losing(source, path):
        done = write(source, path)
        flip(path, 1 - 6 / path.stat().st_size)  # the checksum: other bits may have no effect
        return done

    monkeypatch.setattr(copying, "_write", losing)
    with open_reader(str(place)) as reader, pytest.raises(StoreError, match=r"b\.nq\.gz"):
        copying.write(reader, tmp_path / "b.nq.gz")
    assert not list(tmp_path.glob("b.nq.gz*"))


# --- the attack -----------------------------------------------------------------------------


def test_random_damages_do_no_harm():
    """Random damage to a store causes no traceback, no hang, and no false 'sound'."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.damage", "--tries", "4", "--seed", "4"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tries"] == 4
