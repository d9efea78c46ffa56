# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks check`` builds the wheel of a package and reports missing files."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.tasks.protection import SUFFIX
from kgbench.testing import packages, scaffold
from kgbench.testing.checking import Check, check_folder

HATCH = """[tool.hatch.build.targets.wheel]
packages = ["tea_garden"]
"""
SETUPTOOLS = """[tool.setuptools]
packages = ["tea_garden"]
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a new package with the task class TeaGarden, which is not installed."""
    scaffold.make("TeaGarden", tmp_path / "tea-garden")
    return tmp_path / "tea-garden"


def project(package: Path, found: str, instead: str) -> None:
    """Replace a piece of pyproject.toml, which must exist."""
    path = package / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    assert found in text
    path.write_text(text.replace(found, instead), encoding="utf-8")


def checked(package: Path) -> Check:
    """Return the check of the wheel, without running later checks."""
    return next(check for check in check_folder(package) if check.name == "wheel")


def told(package: Path) -> str:
    """Return the message of the only fault of the wheel."""
    (fault,) = checked(package).faults
    return fault.message


def test_a_complete_wheel_leaves_no_trace(package: Path) -> None:
    """The wheel of a new package is complete, and building it leaves the folder unchanged."""
    before = sorted(package.rglob("*"))
    found = checked(package)
    assert (found.faults, found.skipped) == ((), None)
    assert found.looked_at.startswith("wheel: ")
    assert sorted(path for path in package.rglob("*") if "__pycache__" not in path.parts) == before


@pytest.mark.parametrize(
    ("more", "absent"),
    [
        ('exclude = ["*.ttl"]', ["tea_garden/task.ttl"]),
        ('exclude = ["*.json", "*.txt"]', ["tea_garden/cases.json", "tea_garden/prompt.txt"]),
        (
            'exclude = ["*.ttl", "*.txt", "judge.py"]',
            ["tea_garden/judge.py", "tea_garden/prompt.txt", "tea_garden/task.ttl"],
        ),
    ],
)
def test_what_a_wheel_lacks_is_named(package: Path, more: str, absent: list[str]) -> None:
    """A declaration, prompt, case file or module missing in the wheel is named by its path."""
    project(package, HATCH, f"{HATCH}{more}\n")
    listed = ", ".join(absent)
    assert told(package) == (
        f"the wheel lacks {listed}: pyproject.toml must make it part of the package"
    )


def test_setuptools_leaves_data_out(package: Path) -> None:
    """A setuptools package without package data lacks everything but the code."""
    pytest.importorskip("setuptools", minversion="70.1")  # older versions also need `wheel`
    project(package, HATCH, SETUPTOOLS)
    project(package, 'requires = ["hatchling"]', 'requires = ["setuptools"]')
    project(package, "hatchling.build", "setuptools.build_meta")
    assert "tea_garden/cases.json, tea_garden/prompt.txt, tea_garden/task.ttl" in told(package)
    data = '[tool.setuptools.package-data]\ntea_garden = ["*.ttl", "*.txt", "*.json"]\n'
    project(package, SETUPTOOLS, f"{SETUPTOOLS}{data}")
    assert checked(package).faults == ()
    assert not [path.name for path in package.iterdir() if path.name in ("build", "dist")]


def test_encrypted_data_and_deeper_folders_count(package: Path) -> None:
    """Encrypted files and files in subfolders belong to the wheel, too."""
    module = package / "tea_garden"
    (module / "cases.json").rename(module / f"cases.json{SUFFIX}")
    (module / "graphs").mkdir()
    (module / "graphs" / "tea.nt").write_text("<urn:a> <urn:b> <urn:c> .\n", encoding="utf-8")
    project(package, HATCH, f'{HATCH}exclude = ["*{SUFFIX}", "graphs"]\n')
    assert f"lacks tea_garden/cases.json{SUFFIX}, tea_garden/graphs/tea.nt:" in told(package)


def test_sources_may_lie_in_src(package: Path) -> None:
    """A ``src/`` layout is supported, also if the declaration is missing."""
    (package / "src").mkdir()
    (package / "tea_garden").rename(package / "src" / "tea_garden")
    project(package, 'packages = ["tea_garden"]', 'packages = ["src/tea_garden"]')
    assert checked(package).faults == ()
    project(package, '["src/tea_garden"]', '["src/tea_garden"]\nexclude = ["task.ttl"]')
    assert "lacks tea_garden/task.ttl:" in told(package)


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ('version = "1.0"\n', "", "no wheel can be built: ValueError: .*version"),
        (
            'requires = ["hatchling"]',
            'requires = ["hatchling ="]',
            "no wheel can be built: .*hatch",
        ),
        ('["tea_garden"]', '["nowhere"]', "the wheel lacks tea_garden/judge.py, .*task.ttl"),
    ],
)
def test_packages_that_cannot_be_built_are_faulty(
    package: Path, found: str, instead: str, message: str
) -> None:
    """An error in the package is a finding with the message of the build system."""
    project(package, found, instead)
    assert re.search(message, told(package)), told(package)


def test_what_is_not_installed_is_a_note(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an installed build tool no wheel is built, and the other checks decide."""
    project(package, '"hatchling"', '"no-such-builder >= 2"')
    assert checked(package).skipped == (
        "no wheel is built: its build system is not installed: pip install 'no-such-builder>=2'"
    )
    project(package, "no-such-builder >= 2", "hatchling > 999")
    assert "pip install 'hatchling>999'" in str(checked(package).skipped)
    find = importlib.util.find_spec
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "build" else find(name))
    done = CliRunner().invoke(app, ["tasks", "check", str(package)])
    assert done.exit_code == 0
    assert "no wheel is built: build is not installed: pip install build" in done.output


def test_a_folder_called_build_is_no_tool(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder ``build`` beside the modules is not mistaken for the library ``build``."""
    (package / "build").mkdir()
    monkeypatch.chdir(package)
    monkeypatch.syspath_prepend(package)
    assert checked(package).faults == ()
    spec = importlib.machinery.PathFinder.find_spec("build", [str(package)])
    monkeypatch.setattr(packages, "find_spec", lambda _: spec)
    assert (
        checked(package).skipped == "no wheel is built: build is not installed: pip install build"
    )


def test_endless_builds_are_ended(package: Path) -> None:
    """A build that takes too long is ended with all its processes and only noted."""
    with pytest.raises(packages.NotBuiltHereError, match=r"building takes more than 0\.01 s"):
        packages.contents(package, seconds=0.01)


def test_projects_that_name_no_class_have_no_wheel(package: Path) -> None:
    """If pyproject.toml names no task class, no wheel is checked."""
    project(package, "kgbench.tasks", "other.group")
    assert [check for check in check_folder(package) if check.name == "wheel"] == []
