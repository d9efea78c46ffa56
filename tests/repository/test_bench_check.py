# SPDX-License-Identifier: Apache-2.0
"""The check of hot paths: its limits and its reports. Nothing is timed."""

import importlib

import pytest

TOLERANCE = 4 / 3


@pytest.fixture
def check(monkeypatch, repository):
    """Return the module under test."""
    monkeypatch.syspath_prepend(str(repository))
    return importlib.import_module("bench.check")


class Hours:
    """A clock that only advances through work."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        """Return the current time."""
        return self.now

    def work(self, *durations):
        """Return work that takes each of ``durations`` in turn and repeats the last one."""
        left = list(durations)

        def slowed():
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return slowed


@pytest.fixture
def clock():
    """Return a stopped clock."""
    return Hours()


@pytest.fixture
def checked(check, clock):
    """Return a check of paths whose expected ratio is 2, against a loop that takes 1."""

    def of(**paths):
        declared = {name: check.Expected(name, f"the path {name}", 2.0) for name in paths}

        def measure(some):
            return check.ratios(some, clock=clock, loop=clock.work(1.0), repeat=3)

        return check.checked(paths, declared, TOLERANCE, measure)

    return of


def test_every_path_has_a_declared_ratio(check, repository):
    """The declared hot paths are those that exist and of the page; the tolerance is a third."""
    page = (repository / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    declared, tolerance = check.expected()
    text = (repository / "bench" / "hot_paths.py").read_text(encoding="utf-8")

    assert 4 <= len(declared) <= 6
    assert all(f'"{name}": paths.' in text for name in declared)
    for one in declared.values():
        assert f"| `{one.name}`: {one.label} | {one.ratio:g} |" in page
    assert tolerance == pytest.approx(4 / 3, abs=0.001)


def test_a_path_that_became_slow_fails_with_its_profile(checked, clock):
    """A path slower by a third has a profile with its functions; the others have none.

    Ratios are medians; a slow path is measured again, as the machine may have been busy.
    """
    spell = clock.work(9.0, 9.0, 9.0, 9.0, 2.0)
    found, slow = checked(
        usual=clock.work(7.0, 2.5, 9.0, 2.5), slower=clock.work(2.75), spell=spell
    )

    assert found == {"usual": 2.5, "slower": 2.75, "spell": 2.0}
    assert set(slow) == {"slower"}
    assert "slowed" in slow["slower"]
    assert "cumulative" in slow["slower"]


def test_a_path_without_a_declared_ratio_is_refused(check, clock):
    """A path without a declared ratio, and a ratio without a path, are refused."""
    declared = {"declared": check.Expected("declared", "a path", 1.0)}
    with pytest.raises(ValueError, match="differ in declared, path"):
        check.checked({"path": clock.work(1.0)}, declared, TOLERANCE)


@pytest.mark.parametrize("slow", [{}, {"path": "profile of path"}])
def test_the_command_fails_and_shows_the_profile(check, monkeypatch, capsys, tmp_path, slow):
    """The exit code is 1 if a path is too slow; its profile is printed and kept."""
    declared = {"path": check.Expected("path", "a path", 2.0)}
    monkeypatch.setattr(check, "expected", lambda: (declared, TOLERANCE))
    monkeypatch.setattr(check, "_measured", lambda: ({"path": 3.0 if slow else 2.0}, slow))
    monkeypatch.setattr(check, "PROFILES", tmp_path / "profiles")

    assert check.main() == len(slow)
    told = capsys.readouterr().out
    assert "expected 2.00, at most 2.67 (a path)" in told
    assert ("profile of path" in told) == bool(slow)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.glob("profiles/*")] == [
        *slow.values()
    ]
