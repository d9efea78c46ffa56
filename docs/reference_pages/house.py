# SPDX-License-Identifier: Apache-2.0
"""The house: which rooms ``kgbench/`` has, on which floors, and what imports what.

A room is a module or a folder right below ``kgbench/``. What is drawn is read from the imports
themselves; only the floors are written here, and a test holds the imports to them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from docs.reference_pages.declared import cell

PACKAGE = Path(__file__).resolve().parents[2] / "kgbench"

INTRODUCTION = """\
# Rooms and floors

The folders and modules of the package `kgbench` are called rooms. They are on floors, which are the
rows of the picture. A room imports only from rooms on lower floors, or from rooms to its left in
the list of its floor. A test enforces this rule, so there are no circular imports, and the rooms
that a change can affect are known. An arrow is an import. Imports that follow from others are left
out: if `engine` imports `record`, and `record` imports `store`, there is no arrow from `engine` to
`store`. The picture and the table are generated from the code when the site is built.

[![The rooms of kgbench on their floors, and the imports between them](house.svg)](house.svg)
"""


class Floor(NamedTuple):
    """A floor: what its rooms have in common, and the rooms; each may use those before it."""

    title: str
    rooms: tuple[str, ...]


#: From the ground up.
FLOORS = (
    Floor(
        "names, data, rules",
        (
            *(
                "clock",
                "errors",
                "entry_points",
                "vocab",
                "tool_calls",
                "model",
                "on_demand",
            ),
            *("resources", "characters", "rdf", "files", "validation"),
            *("secrets", "signing", "children", "net", "reasoning"),
        ),
    ),
    Floor(
        "formulas, stores, data",
        ("scoring", "mapping", "tools", "policies", "variants", "worlds", "store", "datasets"),
    ),
    Floor(
        "tasks, models, judging",
        ("tasks", "families", "connectors", "execution"),
    ),
    Floor("test support", ("testing", "pytest_plugin")),
    Floor("plans, records", ("record", "config", "software")),
    Floor(
        "runs, passes, imports",
        ("run_selection", "reevaluation", "engine", "importers"),
    ),
    Floor(
        "analyses, pages, exports",
        (
            *("tables", "statistics", "scores", "analysis", "plots"),
            *("pages", "publish", "exports", "serve", "doctor"),
        ),
    ),
    Floor("commands and Python", ("api", "cli", "__main__")),
    Floor("what only some need", ("plugins",)),
)


class Room(NamedTuple):
    """A room: what it is for, its modules, their lines in all, and those of the longest."""

    name: str
    job: str
    modules: int
    lines: int
    longest: int


def room_of(path: Path) -> str:
    """Return the room of a file of the package; "" for the package's ``__init__``."""
    first = path.relative_to(PACKAGE).with_suffix("").parts[0]
    return "" if first == "__init__" else first


def own_imports(path: Path) -> Iterator[str]:
    """Yield the rooms that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            package, _, module = node.module.partition(".")
            if package == "kgbench":
                yield from [module.split(".")[0]] if module else (each.name for each in node.names)
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (name[1] for name in names if name[0] == "kgbench" and name[1:])


@cache
def rooms() -> Mapping[str, Room]:
    """Return every room by its name, from the ground up."""
    files: dict[str, list[Path]] = {name: [] for floor in FLOORS for name in floor.rooms}
    for path in sorted(PACKAGE.rglob("*.py")):
        if room_of(path):
            files[room_of(path)].append(path)
    return {name: _room(name, paths) for name, paths in files.items()}


def _room(name: str, paths: list[Path]) -> Room:
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    told = ast.get_docstring(ast.parse(paths[0].read_text(encoding="utf-8"))) or ""
    job = " ".join(told.split("\n\n")[0].split())
    return Room(name, job, len(paths), sum(lines), max(lines))


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Return the rooms that each room imports."""
    found: dict[str, set[str]] = {name: set() for name in rooms()}
    for path in sorted(PACKAGE.rglob("*.py")):
        if name := room_of(path):
            found[name] |= set(own_imports(path)) & set(found) - {name}
    return {name: frozenset(others) for name, others in found.items()}


def arrows() -> list[tuple[str, str]]:
    """Return the imports that do not follow from others, each as the room and what it imports.

    Raises :class:`graphlib.CycleError` where rooms import each other in a circle.
    """
    reached: dict[str, set[str]] = {}
    for name in TopologicalSorter(imports()).static_order():
        reached[name] = set().union(*(reached[other] | {other} for other in imports()[name]))
    return [
        (name, other)
        for name, others in imports().items()
        for other in sorted(others)
        if not any(other in reached[between] for between in others - {other})
    ]


def page() -> str:
    """Return the page in Markdown."""
    found = rooms()
    total, largest = sum(room.lines for room in found.values()), max(found.values(), key=_longest)
    modules = sum(room.modules for room in found.values())
    counts = (
        f"{len(found)} rooms, {modules} modules, {total:,} lines with comments and docstrings; the "
        f"longest module has {largest.longest} lines and is in `{largest.name}`. From the top:\n"
    )
    lines = [
        INTRODUCTION,
        counts,
        "| floor | room | purpose | modules | lines | longest |\n|---|---|---|---:|---:|---:|",
    ]
    for floor in reversed(FLOORS):
        for number, name in enumerate(reversed(floor.rooms)):
            room = found[name]
            lines.append(
                f"| {'' if number else floor.title} | `{name}` | {cell(_words(room.job))} "
                f"| {room.modules} | {room.lines:,} | {room.longest} |"
            )
    return "\n".join([*lines, ""])


def _longest(room: Room) -> int:
    return room.longest


def _words(docstring: str) -> str:
    """Return a line of a docstring as Markdown."""
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", docstring).replace("``", "`")
