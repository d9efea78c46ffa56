# SPDX-License-Identifier: Apache-2.0
"""Tiers of tests: what is selected, measured and listed."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests import costs

SAMPLE = """
import time
import pytest

@pytest.fixture(scope="module")
def shared():
    until = time.process_time() + 0.4
    while time.process_time() < until:
        pass

@pytest.mark.parametrize("number", range(2))
def test_shares(shared, number):
    pass

def test_works():
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass

@pytest.mark.servers
def test_serves():
    pass

def test_skips():
    pytest.skip("because")
"""


@pytest.fixture
def sampled(pytester, repository, monkeypatch):
    """Return a function that runs the sample with options, as in a checkout with a given list."""
    monkeypatch.setenv("PYTHONPATH", str(repository))
    pytester.makeini("[pytest]\nmarkers =\n    servers: x\n    browser: y\n")
    pytester.makepyfile(test_sample=SAMPLE)
    pytester.makepyfile(
        plugged="""
        from pathlib import Path
        from tests import costs
        costs.ROOT = Path.cwd()
        costs.LISTED, costs.MEASURED = Path("listed.json"), Path("build", "costs.json")
        costs.WIDE = 0.25
        """
    )

    def run(*options, wide=None, commit=None):
        listed = {"commit": commit, "wide": wide or {}}
        pytester.path.joinpath("listed.json").write_text(json.dumps(listed))
        words = ("-p", "plugged", "-p", "tests.costs", "-p", "no:kgbench", "-p", "no:randomly")
        done = pytester.runpytest_subprocess(*words, *options)
        measured = pytester.path / "build" / "costs.json"
        return done, json.loads(measured.read_text()) if measured.exists() else None

    return run


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_tests_are_measured_and_named(sampled, workers):
    """A run measures its tests, divides fixtures among users, and names what became wide."""
    done, run = sampled(*workers)

    done.assert_outcomes(passed=3, skipped=1)
    measured = costs.Run(**run).costs()
    found = {test.partition("::")[2]: seconds for test, seconds in measured.items()}
    assert found.keys() == {"test_shares[0]", "test_shares[1]", "test_works"}
    assert found["test_works"] >= 0.29
    if not workers:  # half of the fixture each
        assert min(found["test_shares[0]"], found["test_shares[1]"]) >= 0.19
    assert run["skipped"] == ["test_sample.py::test_skips"]
    assert run["commit"] is None
    done.stdout.fnmatch_lines(["*left for other tiers: 1 with servers or browser"])
    done.stdout.fnmatch_lines(["* s  test_sample.py::test_works"])


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ((), 2),
        (("--tier", "all"), 4),
        (("--tier", "change"), 4),  # no commit is known, so everything counts as changed
        (("test_sample.py::test_works",), 1),
        (("test_sample.py::test_serves",), 1),
    ],
)
def test_what_a_tier_runs(sampled, options, passed):
    """Listed tests and those with servers are left out, unless a tier or a name asks for them."""
    done, _ = sampled(*options, wide={"test_sample.py": {"test_works": 2.0}})

    assert done.parseoutcomes()["passed"] == passed


def test_a_whole_run_renews_the_list(monkeypatch, tmp_path):
    """After a run of all tests the list has what was wide, and what was skipped keeps its place.

    The budget of a change is not spent on tests of files that are gone.
    """
    monkeypatch.setattr(costs, "WIDE", 1.0)
    monkeypatch.setattr(costs, "ROOT", tmp_path)
    (tmp_path / "f.py").touch()
    listed = {"f.py": {"gone": 3.0, "skipped": 4.0, "quicker": 5.0}, "gone.py": {"any": 6.0}}
    old = {"commit": "a", "wide": listed}
    run = costs.Run({"f.py::quicker": 0.5, "f.py::slower": 1.5}, {}, ["f.py::skipped"], "b")

    assert costs.moved(old, run) == {
        "commit": "b",
        "wide": {"f.py": {"skipped": 4.0, "slower": 1.5}},
    }
    assert costs.moved(old, run._replace(commit=None)) == {
        "commit": "a",
        "wide": {"f.py": {"gone": 3.0, "skipped": 4.0, "slower": 1.5}},
    }


def test_fixtures_are_divided_among_quick_tests(monkeypatch):
    """If some users of a fixture are wide, its time falls on the others, which may become wide."""
    monkeypatch.setattr(costs, "WIDE", 1.0)
    run = costs.Run({"a": 2.0, "b": 0.2, "c": 0.1}, {"f": (1.9, ["a", "b"])}, [], None)

    assert run.costs() == {"a": 2.95, "b": pytest.approx(1.15), "c": 0.1}
    assert run._replace(fixtures={"f": (1.4, ["a", "b"])}).wide() == {"a": 2.7, "b": 1.6}
    assert run._replace(fixtures={"f": (0.4, ["a", "b"])}).wide() == {"a": 2.2}


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Return a function that commits files to a repository in which the plugin looks."""
    monkeypatch.setattr(costs, "ROOT", tmp_path)
    for cached in (costs.changes, costs.listed, costs.wide_tests, costs.wide_of_change):
        monkeypatch.setattr(costs, cached.__name__, cached.__wrapped__)
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org")

    def commit(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".py").write_text(text)
        for words in (("init", "-q"), ("add", "-A"), (*names, "commit", "-qm", "x")):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return costs.git("rev-parse", "HEAD")

    return commit


def test_changed_rooms_and_those_that_import_them_are_affected(history, monkeypatch):
    """A change affects its room and what imports it; each commit takes another eighth.

    If the listed commit is unknown, all rooms count as changed.
    """
    first = history(
        kgbench__store__leases="", kgbench__engine__run="from kgbench.store import leases",
        kgbench__clock="", kgbench__rdf__quads="import kgbench.clock",
    )  # fmt: skip
    monkeypatch.setattr(costs, "listed", lambda: {"commit": first, "wide": {}})
    assert costs.changes() == ({"golden"}, 0)

    history(kgbench__store__leases="a = 1")
    tests = {"tests/docs/test_site.py": {"test_links": 9.0}}
    with monkeypatch.context() as patch:
        patch.setattr(costs, "listed", lambda: {"commit": "0" * 40, "wide": tests})
        assert costs.changes()[0] >= {"store", "engine", "rdf", "docs"}
    assert costs.changes() == ({"store", "engine", "golden"}, 1)

    history(tests__rdf__test_quads="b = 2")
    assert costs.changes() == ({"store", "engine", "rdf", "golden"}, 2)


def test_the_wide_tests_of_a_change_have_a_budget(monkeypatch):
    """Tests of changed rooms come before others, and successive changes run different ones."""
    names = [f"test_{number}" for number in range(200)]
    wide = {f"tests/{room}/test_a.py": dict.fromkeys(names, 1.0) for room in ("store", "engine")}
    monkeypatch.setattr(costs, "listed", lambda: {"commit": "0" * 40, "wide": wide})
    monkeypatch.setattr(costs, "BUDGET", 210.0)

    def chosen(rooms, part):
        monkeypatch.setattr(costs, "changes", lambda: (frozenset(rooms), part))
        return costs.wide_of_change.__wrapped__()

    several = chosen(("store", "engine"), 0), chosen(("store", "engine"), 4)
    assert [len(each) for each in several] == [210, 210]
    assert len(several[0] | several[1]) > 300
    first = chosen(("store",), 3)
    assert {test for test in first if "store" in test} >= {
        f"tests/store/test_a.py::{name}" for name in names
    }
    assert len(first) == 210
    assert {costs.part_of(test) for test in chosen((), 3)} == {3}
    assert {costs.part_of(f"test_{number}") for number in range(200)} == set(range(costs.PARTS))
