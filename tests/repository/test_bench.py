# SPDX-License-Identifier: Apache-2.0
"""The benchmark harness: medians of at least three repetitions, ratios from one run."""

import importlib
import json
import sys

import pytest

from kgbench.rdf import queries
from kgbench.store import open_reader
from tests.support.validation import assert_conforms


@pytest.fixture(autouse=True)
def _importable(monkeypatch, repository):
    monkeypatch.syspath_prepend(str(repository))


@pytest.fixture
def harness():
    """Return the module under test."""
    return importlib.import_module("bench.harness")


@pytest.fixture
def command():
    """Return the module behind ``python -m bench``."""
    return importlib.import_module("bench.__main__")


def test_median_and_spread(harness):
    """One slow repetition changes the spread, not the median."""
    timing = harness.Timing((1.0, 2.0, 9.0))

    assert timing.median == 2.0
    assert timing.spread == 4.0


def test_two_repetitions_are_refused(harness):
    """A median of fewer than three repetitions is refused."""
    with pytest.raises(ValueError, match="at least 3"):
        harness.measure(lambda: None, repeat=2)
    with pytest.raises(ValueError, match="at least 3"):
        harness.measure_pair(lambda: None, lambda: None, repeat=2)


def test_pairs_are_taken_in_turn(harness):
    """Two functions that are compared are run alternately."""
    done = []
    first, second = harness.measure_pair(lambda: done.append("a"), lambda: done.append("b"))

    assert done == ["a", "b"] * 3
    assert len(first.seconds) == len(second.seconds) == 3


def test_warm_up_is_not_counted(harness):
    """The warm-up runs once more and its time is not counted."""
    done = []
    timing = harness.measure(lambda: done.append(1), warm_up=True)

    assert len(done) == 4
    assert len(timing.seconds) == 3


def test_machine_says_what_was_measured_on(harness):
    """A report has the processor, the cores and the versions of relevant software."""
    assert {"processor", "cores", "system", "python", "kgbench", "pyoxigraph"} <= set(
        harness.machine()
    )


def test_every_benchmark_can_be_run(command, repository):
    """Each module in bench/ but the harness is listed and has ``run``."""
    files = {path.stem for path in (repository / "bench").glob("*.py")} - {"__init__"}

    assert set(command.names()) == files - command.APART
    for name in command.names():
        assert callable(importlib.import_module(f"bench.{name}").run)


def test_unknown_benchmark_is_named(command, capsys):
    """An unknown benchmark is refused with the list of benchmarks."""
    with pytest.raises(SystemExit):
        command.main(["nonesuch"])

    assert "no benchmark called nonesuch; there are" in capsys.readouterr().err


@pytest.fixture
def fake(command, monkeypatch):
    """Replace all benchmarks by one; return the list of results that it will report."""
    found = []
    module = type(sys)("bench.fake")
    module.run = lambda: list(found)
    monkeypatch.setitem(sys.modules, "bench.fake", module)
    monkeypatch.setattr(command, "names", lambda: ["fake"])
    return found


def test_report_is_printed_and_written(command, harness, fake, capsys, tmp_path):
    """A result is printed with its goal and written as JSON with the machine."""
    fake += [harness.Result("reading", 1.25, "x", "peer", "under 2 x", "n 3")]
    path = tmp_path / "report.json"

    assert command.main(["--json", str(path), "--no-record"]) == 0
    assert "  reading: 1.25 x against peer (goal under 2 x) [n 3]\n" in capsys.readouterr().out
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["results"]["fake"][0]["value"] == 1.25
    assert report["machine"]["kgbench"]


def test_runs_are_recorded_and_compared(command, harness, fake, capsys, tmp_path):
    """Each run is recorded as conforming RDF; the next run shows the changes."""
    store, figure = tmp_path / "store", tmp_path / "ratios.svg"
    options = ["--store", str(store), "--plot", str(figure)]
    skipped = harness.Result("peer", 0, "", note="not run: it is not there")
    fake += [harness.Result("reading", 2.0, "x", "peer", "under 2 x"), skipped]
    assert command.main(options) == 0
    first = capsys.readouterr().out
    fake[0] = harness.Result("reading", 1.5, "x", "peer", "under 2 x")
    assert command.main(options) == 0
    second = capsys.readouterr().out
    with open_reader(str(store)) as opened:
        assert_conforms(opened)
        rows = queries.rows(opened, "benchmark-measurements")

    assert [row[6] for row in rows] == ["2", "1.5"]
    assert "-25.0 %" not in first
    assert "2 x" in second
    assert "-25.0 %" in second
    assert "kgbench compared with its peers" in figure.read_text(encoding="utf-8")


def test_flame_graph_has_the_boxes_of_the_samples():
    """Functions of kgbench are stacked with their callees; all others are left out."""
    flames = importlib.import_module("bench.flames")
    found = flames.boxes(
        [
            "process 1:python -c a\n",
            "b;<module> (a.py);load (kgbench/importers/load.py);dumps (json/__init__.py) 3\n",
            "load (kgbench/importers/load.py);Items.item (kgbench/importers/x.py) 2\n",
            "load (kgbench/importers/load.py);_load (<frozen importlib._bootstrap>);x (y.py) 1\n",
            "wait (threading.py) 4\n",
        ]
    )
    assert found.samples == 10
    (name, load), *none = found.called.items()
    assert (name, load.samples, none) == ("load.load", 6, [])
    assert {name: box.samples for name, box in load.called.items()} == {
        "json.dumps": 3,
        "x.item": 2,
        "import": 1,
    }
    texts = [text.get_text() for text in flames.flame(found, "import").axes[0].texts]
    assert texts == ["load.load", "import", "json.dumps", "x.item"]


def test_rate_of_requests_has_its_shares():
    """The rate of requests has the 50th, 95th and 99th percentile in milliseconds."""
    clients = importlib.import_module("bench.clients")
    times = [number / 1_000 for number in range(100)]
    rate = clients.Rate.of(reversed(times), whole=4.0)

    assert rate == (25.0, pytest.approx(50), pytest.approx(95), pytest.approx(99), rate.longest)
    assert rate.longest == pytest.approx(99)


def test_times_of_servers_are_told_as_multiples_of_ours(harness):
    """Rates and times of one server are divided by those of each other, line by line."""
    crowds = importlib.import_module("bench.crowds")
    rates = {"ours": (200.0, 4.0), "theirs": (100.0, 16.0)}
    found = [
        result
        for name, (rate, p99) in rates.items()
        for result in (
            harness.Result(f"{name}, look-ups", rate, "/s"),
            harness.Result(f"{name}, look-ups, p99", p99, "ms"),
            harness.Result(f"{name}, look-ups, longest", p99, "ms"),
        )
    ]

    assert [(one.what, one.value, one.against) for one in crowds.ratios(found, "ours")] == [
        ("ours, look-ups", 2.0, "theirs"),
        ("ours, look-ups, p99", 0.25, "theirs"),
    ]


def test_code_of_two_revisions_is_compared(monkeypatch, tmp_path, repository):
    """Each code works in its own folder; values are ratios to those of the earlier code."""
    growth = importlib.import_module("bench.growth")
    revisions = importlib.import_module("bench.revisions")
    monkeypatch.setattr(growth, "STEPS", {"run": growth.STEPS["run"]})
    commands = {"kgbench --help": ["--help"], "runs": ["status", "--store", "run"]}
    monkeypatch.setattr(revisions, "_COMMANDS", commands)
    monkeypatch.setattr(revisions, "LEAST", 1)
    trees = {"before": repository, "now": repository}
    found = list(revisions.compared(trees, tmp_path, 4, "HEAD"))

    assert [(one.what, one.unit, one.against) for one in found] == [
        (what, "x", "HEAD, 4 dialogues")
        for what in (
            "run, s of processor time",
            "run, MB",
            "kgbench --help, s of processor time",
            "runs, s of processor time",
        )
    ]
    assert all(0 < one.value < 100 for one in found)
    assert all(one.note.startswith("before ") for one in found)
    assert list(tmp_path.iterdir()) == []


def test_code_of_a_commit_is_extracted(monkeypatch, tmp_path, repository):
    """The files of a commit are extracted; nothing runs without the name of a commit."""
    revisions = importlib.import_module("bench.revisions")
    folder = revisions.extracted("HEAD", tmp_path / "code")
    assert (folder / "bench" / "growth.py").is_file()
    assert (folder / "kgbench" / "__main__.py").is_file()
    monkeypatch.delenv(revisions.BEFORE, raising=False)
    (skipped,) = revisions.run()
    assert skipped.note == f"not run: {revisions.BEFORE} is not set"
