# SPDX-License-Identifier: Apache-2.0
"""Files outside kgbench's code: installed data sets, and the query editor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import kgbench
from kgbench.datasets import descriptions, home
from kgbench.doctor import Condition, State
from kgbench.errors import KgbenchError

YASGUI = Path(kgbench.__file__).parent / "serve" / "static" / "yasgui"
_PARTS = ("yasgui.min.js", "yasgui.min.css")
_SHOWN = 3


def data_sets() -> Iterator[Condition]:
    """Yield each installable data set, then installed ones that kgbench does not know."""
    for name in descriptions.names():
        yield _data_set(name)
    for name in sorted(set(home.installed()) - set(descriptions.names())):
        words = f"is in {home.folder_of(name)}, but this version of kgbench does not know it"
        yield Condition("data sets", name, State.NOTE, words)


def _data_set(name: str) -> Condition:
    command = f"kgbench datasets install {name} [--from PATH]"
    try:
        record = home.installation_record(name)
        described = descriptions.describe(name)
    except KgbenchError as error:
        return Condition("data sets", name, State.BROKEN, str(error), command)
    path = home.folder_of(name)
    if record is None:
        return Condition("data sets", name, State.ABSENT, "not installed", command)
    known = {*record.get("missing", ()), *record.get("differing", ())}
    lost = [file for file in described.files if not (path / file).is_file() and file not in known]
    if lost:
        listed = ", ".join(lost[:_SHOWN]) + (" ..." if lost[_SHOWN:] else "")
        words = f"{len(lost)} of its files are missing from {path}: {listed}"
        return Condition("data sets", name, State.BROKEN, words, command)
    words = f"{path}, installed {record.get('installed', 'at an unknown time')}"
    facts = {"place": str(path), "tasks": len(record.get("tasks", ()))}
    return Condition("data sets", name, State.OK, words, None, facts)


def pages() -> Iterator[Condition]:
    """Yield the query editor YASGUI, without which pages have a plain query form."""
    present = [name for name in _PARTS if (YASGUI / name).is_file()]
    if not present:
        words = "not installed: the pages of `kgbench serve` have a plain query form instead"
        yield Condition("pages", "YASGUI", State.ABSENT, words, "make yasgui (in a checkout)")
        return
    if len(present) < len(_PARTS):
        missing = ", ".join(name for name in _PARTS if name not in present)
        words = f"{YASGUI} lacks {missing}"
        yield Condition("pages", "YASGUI", State.BROKEN, words, "make yasgui (in a checkout)")
        return
    version = _version(YASGUI / "package.json")
    words = "there" if version is None else f"version {version}"
    yield Condition("pages", "YASGUI", State.OK, words, None, {"version": version})


def _version(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
