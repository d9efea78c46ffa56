# SPDX-License-Identifier: Apache-2.0
"""Dialogues are in the document of their execution, on one page or on several."""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.publish import execution_pages, pages
from kgbench.publish.checks import check
from tests.publish.conftest import publish


def places(site):
    """Yield the Turtle documents of executions with dialogues, and the folders of their pages."""
    for path in sorted(site.glob("run/*/*/*.ttl")):
        if dialogues(path):
            yield path, path.with_suffix("")


def dialogues(path):
    """Return the fragments of the dialogues that a Turtle document describes."""
    kind = ox.NamedNode("https://w3id.org/kgbench/ns#Dialogue")
    return [
        quad.subject.value.partition("#")[2]
        for quad in ox.parse(path=str(path))
        if quad.object == kind
    ]


def wrong(site):
    """Return the faults that the check finds."""
    return check(site).faults


def test_files_are_of_executions(site):
    """An execution has one page and one Turtle document for all its dialogues."""
    documents = dict(places(site))
    assert len(documents) == 6
    for turtle, folder in documents.items():
        assert [path.name for path in folder.iterdir()] == ["index.html"]
        assert len(dialogues(turtle)) == 2


def test_long_executions_have_several_pages(recorded, tmp_path, monkeypatch):
    """A long execution has a list of its dialogues and further pages; all links and IRIs work."""
    for module in (execution_pages, pages):
        monkeypatch.setattr(module, "PAGE", 1)
    site = tmp_path / "site"
    publish(recorded, site)
    for turtle, folder in places(site):
        assert sorted(path.name for path in folder.iterdir()) == ["index.html", "page-1", "page-2"]
        listed = (folder / "index.html").read_text(encoding="utf-8")
        for number, name in enumerate(dialogues(turtle), 1):
            assert f'<tr id="{name}">' in listed
            assert f'href="page-{number}/#{name}"' in listed
            page = (folder / f"page-{number}" / "index.html").read_text(encoding="utf-8")
            assert f'<section class="dialogue" id="{name}">' in page
            assert f'id="{name}-0-answer"' in page
    assert wrong(site) == []
