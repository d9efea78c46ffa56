# SPDX-License-Identifier: Apache-2.0
"""The door for packages of others: its names, where they are listed, and who uses nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgbench import api
from kgbench.testing import scaffold

MOST = 120
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BESIDE = 163  # names of kgbench that own families import beside the door; never more
ROW = re.compile(r"^\| ([a-z ]+) \| (`.*`) \|$", re.MULTILINE)
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = ("new-task-class.md", "new-connector.md", "new-data-set.md")


def imported(text: str) -> Iterator[str]:
    """Yield the modules of kgbench that a Python text imports."""
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        yield from (name for name in names if name.partition(".")[0] == "kgbench")


def test_families_take_by_the_door_what_it_has() -> None:
    """No family imports a name of the door from its place, and few names are beside the door."""
    beside = {
        (str(node.module), alias.name): path.relative_to(ROOT)
        for path in (ROOT / "tasks").rglob("*.py")
        if not path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith("kgbench.")
        and node.module != "kgbench.api"
        for alias in node.names
    }

    places = set(api._PLACES.values())
    assert not {f"{path}: {name}" for name, path in beside.items() if name in places}
    assert len(beside) == BESIDE


def test_every_name_is_there_and_listed() -> None:
    """At most 120 names, each found, are listed in the documentation by their purpose."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    section = text.partition("`kgbench.api`\n")[2]
    listed = {purpose: re.findall(r"`(\w+)`", names) for purpose, names in ROW.findall(section)}

    assert listed == {purpose: list(names) for purpose, names in api.PURPOSES.items()}
    assert len(api.__all__) == len(set(api.__all__)) <= MOST
    assert all(getattr(api, name) is not None for name in api.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = api.nothing


def test_names_are_loaded_when_they_are_used() -> None:
    """Importing the door, and an error class by it, loads no family and no analysis."""
    code = (
        "import sys; from kgbench.api import ProviderError\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('kgbench.')}\n"
        "sys.exit(f'{rooms}' if rooms > {'api', 'errors'} else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_pages_about_packages_import_nothing_else(page: str) -> None:
    """The modules that the pages show import the door alone."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))

    assert blocks
    assert {name for block in blocks for name in imported(block)} == {"kgbench.api"}


def test_new_packages_import_nothing_else(tmp_path: Path) -> None:
    """What ``kgbench tasks new`` writes imports the door alone."""
    files = [
        path
        for kind in ("answer", "dialogue")
        for answers in ("text", "graph")
        for path in scaffold.make(
            "TeaGarden", tmp_path / kind / answers, kind=kind, answers=answers
        )
        if path.suffix == ".py"
    ]

    used = {name for path in files for name in imported(path.read_text(encoding="utf-8"))}
    assert used == {"kgbench.api"}
