# SPDX-License-Identifier: Apache-2.0
"""The checker finds each fault planted in published graphs, and no fault in unchanged ones.

``faults/*.ru`` are updates of the published graphs, one fault each. Their first lines name the
constraint and the node to be reported (``*``: any).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import pyoxigraph as ox

from kgbench import resources
from kgbench.publish.checks import check, shapes
from kgbench.vocab import BASE as DECLARED
from tests.publish.checks.conftest import rounds
from tests.publish.checks.published_folder import BASE, NAMES

FAULTS = {path.stem: path for path in sorted((Path(__file__).parent / "faults").glob("*.ru"))}


def said(path: Path, what: str) -> str:
    """Return the value of a field in the head of a fault file, or an empty string."""
    found = re.search(rf"^# {what}: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return "" if found is None else found[1]


def node(path: Path) -> str:
    """Return the node at which a fault must be reported, as a pattern."""
    named = said(path, "node")
    return named if named == "*" or ":" in named else BASE + named


def short(constraint: str) -> str:
    """Return the short name of a constraint, as in the heads."""
    return constraint.removeprefix("kgb:").removeprefix(DECLARED)


@contextmanager
def spoilt(store: ox.Store, *updates: str) -> Iterator[None]:
    """Plant faults in a store; the store is restored at the end."""
    before = set(store)
    for update in updates:
        store.update(update)
    after = set(store)
    assert before != after, "the fault was not planted"
    try:
        yield
    finally:
        for quad in after - before:
            store.remove(quad)
        store.extend(before - after)


def test_faults_are_found_beside_each_other(quads: ox.Store, tmp_path: Path) -> None:
    """All faults of a dump are reported together, except those that others hide."""
    dump = tmp_path / "spoilt.nq"

    def told(names: list[str]) -> set[str]:
        texts = (FAULTS[name].read_text(encoding="utf-8") for name in names)
        with spoilt(quads, *texts):
            quads.dump(str(dump), ox.RdfFormat.N_QUADS)
        faults = check(dump, names=NAMES).faults
        assert all(fault.remedy and fault.file == "spoilt.nq" for fault in faults)
        return {
            name
            for name in names
            for fault in faults
            if fnmatchcase(short(fault.constraint), said(FAULTS[name], "constraint"))
            and fnmatchcase(fault.node, node(FAULTS[name]))
        }

    assert rounds(FAULTS, told) < 8


def test_unspoilt_dump_has_no_faults(quads: ox.Store, tmp_path: Path) -> None:
    """An unchanged dump has no faults, and has cubes to check."""
    dump = tmp_path / "whole.nq"
    quads.dump(str(dump), ox.RdfFormat.N_QUADS)
    report = check(dump, names=NAMES)
    assert [str(fault) for fault in report.faults] == []
    assert "6 observations" in {entry.note for entry in report.entries}


def test_every_declared_constraint_is_planted() -> None:
    """Each constraint on provenance, terms and withheld data is violated by some fault."""
    planted = {said(path, "constraint") for path in FAULTS.values()}
    for group in ("provenance", "terms", "leakage"):
        assert set(shapes.group(group)) <= planted
    assert len(FAULTS) >= 30


def test_every_constraint_is_declared_and_asked() -> None:
    """Each query in the folder is declared by a group, and each declaration has a query."""
    folder = Path(resources.path(*shapes.FOLDER))
    groups = [path.stem for path in folder.glob("*.ttl")]
    named = {name for group in groups for name in shapes.group(group)}
    assert {path.stem for path in folder.glob("*.rq")} == named
    for group in groups:
        for constraint in shapes.group(group).values():
            assert constraint.label
            assert constraint.message.endswith(".")
            assert constraint.remedy.endswith(".")
            assert ("?found" in constraint.message) <= ("?found" in constraint.text)
