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


def test_medians_of_repetitions(harness):
    """At least three repetitions are timed, without a warm-up, those of a pair in turn."""
    done = []
    timing = harness.Timing((1.0, 2.0, 9.0))
    assert (timing.median, timing.spread) == (2.0, 4.0)
    first, second = harness.measure_pair(lambda: done.append("a"), lambda: done.append("b"))
    assert done == ["a", "b"] * 3
    assert len(first.seconds) == len(second.seconds) == 3
    assert len(harness.measure(lambda: done.append("c"), warm_up=True).seconds) == 3
    assert done.count("c") == 4
    for few in (harness.measure, harness.measure_pair):
        with pytest.raises(ValueError, match="at least 3"):
            few(*[lambda: None] * (1 + (few is harness.measure_pair)), repeat=2)


def test_every_benchmark_can_be_run(command, repository, capsys):
    """Each module in bench/ but the harness is listed and has ``run``; others are refused."""
    files = {path.stem for path in (repository / "bench").glob("*.py")} - {"__init__"}

    assert set(command.names()) == files - command.APART
    for name in command.names():
        assert callable(importlib.import_module(f"bench.{name}").run)
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


def test_runs_are_recorded_and_compared(command, harness, fake, capsys, tmp_path):
    """Each run is printed, written as JSON and recorded as RDF; the next shows the changes."""
    store, figure, path = (tmp_path / name for name in ("store", "ratios.svg", "report.json"))
    options = ["--store", str(store), "--plot", str(figure), "--json", str(path)]
    skipped = harness.Result("peer", 0, "", note="not run: it is not there")
    fake += [harness.Result("reading", 2.0, "x", "peer", "under 2 x"), skipped]
    assert command.main(options) == 0
    first = capsys.readouterr().out
    assert "  reading: 2 x against peer (goal under 2 x)\n" in first
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["results"]["fake"][0]["value"] == 2.0
    assert {"processor", "cores", "system", "python", "kgbench"} <= set(report["machine"])
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


def test_code_of_two_revisions_is_compared(monkeypatch, tmp_path, repository):
    """The code of a commit works in its own folder; values are ratios to those of the earlier."""
    growth = importlib.import_module("bench.growth")
    revisions = importlib.import_module("bench.revisions")
    monkeypatch.setattr(growth, "STEPS", {"run": growth.STEPS["run"]})
    commands = {"kgbench --help": ["--help"], "runs": ["status", "--store", "run"]}
    monkeypatch.setattr(revisions, "_COMMANDS", commands)
    monkeypatch.setattr(revisions, "LEAST", 1)
    monkeypatch.delenv(revisions.BEFORE, raising=False)
    assert revisions.run()[0].note == f"not run: {revisions.BEFORE} is not set"
    code = revisions.extracted("HEAD", tmp_path / "code")
    assert (code / "kgbench" / "__main__.py").is_file()
    (work := tmp_path / "work").mkdir()
    trees = {"before": repository, "now": repository}
    found = list(revisions.compared(trees, work, 4, "HEAD"))

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
    assert list(work.iterdir()) == []
