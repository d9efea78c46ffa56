# SPDX-License-Identifier: Apache-2.0
"""Locations of declared files, and the recorded state of the running software."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

import kgbench
from kgbench import resources, software
from kgbench.api import results
from kgbench.errors import ResourceError


def git(folder, *arguments):
    """Run git in a folder."""
    own = ("user.name=tests", "user.email=tests@localhost", "commit.gpgsign=false")
    settings = [part for one in own for part in ("-c", one)]
    command = ["git", "-C", str(folder), *settings, *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a folder that replaces the checkout."""
    monkeypatch.setattr(resources, "checkout", lambda: tmp_path)
    return tmp_path


def test_missing_folder_and_file_are_named():
    """A missing folder or file is refused with its expected location."""
    with pytest.raises(ResourceError, match=r"folder 'recipes' is missing at .*recipes: reinstall"):
        resources.folder("recipes")
    with pytest.raises(ResourceError, match=r"resource shapes/none\.ttl is missing: reinstall"):
        resources.text("shapes", "none.ttl")


def test_incomplete_checkout_is_said_to_be(checkout):
    """A folder missing in a checkout is refused by name; no other folder replaces it."""
    with pytest.raises(ResourceError, match=f"'queries' is missing at {checkout}"):
        resources.path("queries", "list-models.rq")


def test_state_of_code_is_that_of_its_repository(checkout):
    """The state is the commit and whether tracked files changed; without git it is unknown."""
    assert software._git_state() == (None, None)
    git(checkout, "init", "-q")
    assert software._git_state() == (None, None)  # nothing was committed yet
    (checkout / "code.py").write_text("1\n", encoding="utf-8")
    git(checkout, "add", "code.py")
    git(checkout, "commit", "-q", "-m", "Begin")
    commit, dirty = software._git_state()
    assert len(commit) == 40
    assert dirty is False
    (checkout / "notes.txt").write_text("not ours\n", encoding="utf-8")
    assert software._git_state() == (commit, False)
    (checkout / "code.py").write_text("2\n", encoding="utf-8")
    assert software._git_state() == (commit, True)


def test_machine_without_git_says_nothing(checkout, monkeypatch):
    """Without git, the commit of a checkout is unknown and no error is raised."""
    (checkout / ".git").mkdir()
    monkeypatch.setenv("PATH", str(checkout))
    assert software._git_state() == (None, None)


def test_code_that_is_not_installed_names_no_packages(monkeypatch):
    """Without installed metadata, kgbench lists no packages."""
    assert "pyoxigraph" in software._packages()
    monkeypatch.setattr(sys, "path", [])
    assert software._packages() == {}


def test_store_opens_from_the_package():
    """``kgbench.open`` is that of the Python API; other names raise AttributeError."""
    assert kgbench.open is results.open
    with pytest.raises(AttributeError, match="module 'kgbench' has no attribute 'close'"):
        _ = kgbench.close


def test_versions_of_packages_are_those_of_their_metadata():
    """Each installed dependency is listed with its version, and nothing else is."""
    found = software._packages()

    assert {"pyoxigraph", "typer", "numpy"} <= found.keys()
    assert found == {name: metadata.version(name) for name in found}


def test_version_that_stands_elsewhere_is_found(monkeypatch):
    """A package whose metadata has an unusual form still has a version."""
    assert software._version("no-such-package") is None
    elsewhere = SimpleNamespace(read_text=lambda _: None)
    monkeypatch.setattr(metadata, "distribution", lambda _: elsewhere)
    monkeypatch.setattr(metadata, "version", lambda _: "1.0")

    assert software._version("typer") == "1.0"
