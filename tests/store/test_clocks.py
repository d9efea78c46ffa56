# SPDX-License-Identifier: Apache-2.0
"""A clock that was ahead by ten years, and is right again, hides no results."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.record import identity, reading
from kgbench.record.recorder import Recorder
from kgbench.store import Block, Iris, open_reader, open_store, snapshots

AHEAD = timedelta(days=3_652)
SMALL = ["--task", "RdfFriendCount-turtle-1", "--model", "baseline:oracle", "--executor", "local:1"]
IRIS = Iris()


@pytest.fixture
def clock(monkeypatch):
    """Return a function that sets the clock of this process ahead."""
    real = time.time_ns

    def put(ahead: timedelta) -> None:
        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(tz) + ahead

        for module in ("engine.session", "engine.calls", "engine.conversation", "reevaluation"):
            monkeypatch.setattr(f"kgbench.{module}.datetime", Clock, raising=False)
        shift = int(ahead.total_seconds() * 1_000_000_000)
        monkeypatch.setattr(time, "time_ns", lambda: real() + shift)

    return put


def given(place, *words):
    """Return the JSON output of a command."""
    done = CliRunner().invoke(app, [*words, "--store", str(place), "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.output)


@pytest.mark.declared
def test_later_results_are_seen(tmp_path, clock):
    """After a session with the clock ahead, 'status' agrees with a later 'run'."""
    clock(AHEAD)
    given(tmp_path / "s", "run", *SMALL, "-n", "2")
    clock(timedelta())
    done = given(tmp_path / "s", "run", *SMALL, "-n", "3")
    (state,) = given(tmp_path / "s", "status")

    assert done["complete"] == state["complete"] == state["planned"] == 3
    assert state["missing"] == 0
    with open_reader(str(tmp_path / "s")) as reader:
        (run,) = reading.runs(reader)
        assert "3" in identity.last_configuration(reader, run)


@pytest.mark.declared
def test_the_later_run_is_continued(tmp_path, clock):
    """Of two runs with the same name the later one is continued, whatever its id."""
    clock(AHEAD)
    first = given(tmp_path / "s", "run", *SMALL, "-n", "1")["run"]
    clock(timedelta())
    second = given(tmp_path / "s", "run", *SMALL, "-n", "1", "--new")["run"]
    continued = given(tmp_path / "s", "run", *SMALL, "-n", "2")["run"]

    assert first > second == continued
    with open_reader(str(tmp_path / "s")) as reader:
        assert [run.iri for run in reading.runs(reader)] == [second, first]
        assert reading.find_run(reader, None).iri == second


@pytest.mark.declared
def test_the_later_pass_is_the_latest(tmp_path, clock):
    """A re-evaluation is later than the pass it revises, although its clock was behind."""
    clock(AHEAD)
    given(tmp_path / "s", "run", *SMALL, "-n", "2")
    clock(timedelta())
    given(tmp_path / "s", "reevaluate")
    with open_reader(str(tmp_path / "s")) as reader:
        (run,) = reading.runs(reader)
        assert [one.kind for one in reading.passes(reader, run)] == ["live", "reevaluation"]
    (state,) = given(tmp_path / "s", "status")
    assert sum(o["answers"] for o in state["outcomes"]["baseline:oracle"].values()) == 2
    table = CliRunner().invoke(
        app,
        ["analyze", "leaderboard", "--pass", "latest", "--store", str(tmp_path / "s")],
    )
    assert table.exit_code == 0, table.exception


def test_snapshots_are_numbered_by_the_store(tmp_path):
    """Snapshots named by a clock that was ahead are followed by greater numbers."""
    place = tmp_path / "s"
    open_store(str(place)).close()
    folder = place / "snapshots"
    newest = snapshots.newest(folder)
    shift = int(AHEAD.total_seconds() * 1_000_000_000)
    named = folder / f"{time.time_ns() + shift:020d}"
    newest.rename(named)
    newest.with_name(f"{newest.name}.lock").rename(folder / f"{named.name}.lock")
    graph = IRIS.mint("runGraph", run="one")
    with open_store(str(place)) as store:
        store.write([Block(graph, ["<urn:s> <urn:p> 'later' ."])])
    with open_reader(str(place)) as reader:
        assert reader.query("ASK { GRAPH ?g { ?s ?p 'later' } }")
    assert int(snapshots.newest(folder).name) > int(named.name)


def test_a_number_is_not_given_twice(tmp_path, clock):
    """If all snapshots were removed, the next one still has a greater number."""
    clock(AHEAD)
    place = tmp_path / "s"
    open_store(str(place)).close()
    before = int(snapshots.newest(place / "snapshots").name)
    for snapshot in snapshots.all_of(place / "snapshots"):
        snapshot.rename(tmp_path / snapshot.name)
    clock(timedelta())
    open_store(str(place)).close()
    assert int(snapshots.newest(place / "snapshots").name) > before
    (place / "snapshots" / "sequence").write_text("damaged")
    before = int(snapshots.newest(place / "snapshots").name)
    open_store(str(place)).close()
    assert int(snapshots.newest(place / "snapshots").name) > before


def test_graphs_are_registered_in_order(tmp_path):
    """Each write that registers graphs has the next number, also after reopening the store."""
    now = datetime.now(UTC)
    names = ["c", "a", "b"]
    for k, name in enumerate(names):
        with open_store(str(tmp_path / "s")) as store:
            recorder = Recorder(store.iris, name, f"pass-{name}")
            started = now - k * AHEAD
            store.write(recorder.run_blocks(label="x", suite="urn:suite", started=started))
            store.write(recorder.pass_blocks(kind="live", started=started, agent="urn:me"))
    with open_reader(str(tmp_path / "s")) as reader:
        assert [run.id for run in reading.runs(reader)] == names[::-1]
