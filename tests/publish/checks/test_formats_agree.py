# SPDX-License-Identifier: Apache-2.0
"""The documents of one resource say the same in all formats, and times as HTML allows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from tests.publish.checks.published_folder import BASE

#: The most that the attribute ``datetime`` allows: three decimals.
MACHINE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?([+-]\d\d:\d\d|Z)?")


def terms(path: Path) -> set[tuple[Any, ...]]:
    """Return the triples of a document; blank nodes, whose labels differ, are left out."""
    return {
        tuple("_" if isinstance(term, ox.BlankNode) else term for term in quad.triple)
        for quad in ox.parse(path=str(path), base_iri=BASE)
    }


def test_formats_have_the_same_terms(site: Path) -> None:
    """Turtle and JSON-LD of a resource have the same statements, term for term."""
    documents = sorted(site.rglob("*.jsonld"))
    compared = [path for path in documents if path.with_suffix(".ttl").exists()]
    assert len(compared) > 30
    for path in compared:
        turtle = terms(path.with_suffix(".ttl"))
        assert terms(path) == turtle, path


def test_executions_are_published_as_turtle_only(site: Path) -> None:
    """A decision about a part of an execution makes no second document of the execution."""
    assert [path.suffix for path in site.glob("run/2/*/Spell-10.*")] == [".ttl"]


def test_times_are_those_of_html(site: Path) -> None:
    """Each machine-readable time has at most three decimals of a second."""
    pages = (path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    found = [time for page in pages for time in re.findall(r'<time datetime="([^"]*)"', page)]
    assert found
    assert [time for time in found if not MACHINE_TIME.fullmatch(time)] == []
