# SPDX-License-Identifier: Apache-2.0
"""Files that kgbench finds beside its code: data sets of others, and the query editor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import kgbench
from kgbench.datasets import descriptions, home
from kgbench.doctor.conditions import Condition, State
from kgbench.errors import KgbenchError

YASGUI = Path(kgbench.__file__).parent / "serve" / "static" / "yasgui"
_PARTS = ("yasgui.min.js", "yasgui.min.css")
_SHOWN = 3


def data_sets() -> Iterator[Condition]:
    """Yield each data set that can be installed, and those that are there besides."""
    for name in descriptions.names():
        yield _data_set(name)
    for name in sorted(set(home.installed()) - set(descriptions.names())):
        words = f"is in {home.place(name)}, but no data set of this kgbench"
        yield Condition("data sets", name, State.NOTE, words)


def _data_set(name: str) -> Condition:
    again = f"kgbench datasets install {name} [--from PATH]"
    try:
        record = home.record(name)
        described = descriptions.describe(name)
    except KgbenchError as error:
        return Condition("data sets", name, State.BROKEN, str(error), again)
    place = home.place(name)
    if record is None:
        return Condition("data sets", name, State.ABSENT, "not installed", again)
    known = {*record.get("missing", ()), *record.get("differing", ())}
    gone = [file for file in described.files if not (place / file).is_file() and file not in known]
    if gone:
        named = ", ".join(gone[:_SHOWN]) + (" ..." if gone[_SHOWN:] else "")
        words = f"{len(gone)} of its files are gone from {place}: {named}"
        return Condition("data sets", name, State.BROKEN, words, again)
    words = f"{place}, installed {record.get('installed', 'at an unknown time')}"
    facts = {"place": str(place), "tasks": len(record.get("tasks", ()))}
    return Condition("data sets", name, State.OK, words, None, facts)


def pages() -> Iterator[Condition]:
    """Yield the query editor YASGUI, without which pages have a plain form."""
    there = [name for name in _PARTS if (YASGUI / name).is_file()]
    if not there:
        words = "not there: the pages of `kgbench serve` have a plain form instead"
        yield Condition("pages", "YASGUI", State.ABSENT, words, "make yasgui (in a checkout)")
        return
    if len(there) < len(_PARTS):
        lacking = ", ".join(name for name in _PARTS if name not in there)
        words = f"{YASGUI} lacks {lacking}"
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
