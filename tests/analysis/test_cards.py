# SPDX-License-Identifier: Apache-2.0
"""Model cards, and analyses of a store from Python."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import kgbench
from kgbench.analysis.cards import Card, as_html_card, as_markdown_card, card
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.scores import ModelInfo
from kgbench.analysis.selection import select
from kgbench.analysis.tables import Column, Table
from kgbench.errors import QueryError
from tests.support.analysis_store import iri, owned, small


class Tags(HTMLParser):
    """Collects the tags that a page opens and closes, and its links."""

    def __init__(self, page):
        super().__init__()
        self.open, self.links = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Record an opened tag."""
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the tag that was opened last."""
        assert self.open.pop() == tag


def test_card_has_place_scores_outcomes_and_evidence():
    """A card has a model's ranks, its scores by task, the outcomes of answers, and their source."""
    made = card(small(), select(small()), "model-b")
    facts = dict(made.facts)
    assert (facts["Rank"], facts["Models on the leaderboard"]) == ("1", "2")
    titles = [table.title for table in made.tables]
    assert titles == ["Scores by task (small)", "Outcomes of answers"]
    outcomes = dict(
        zip(made.tables[1].column("outcome"), made.tables[1].column("count"), strict=True)
    )
    assert outcomes == {"scored": 9, "timeout": 1}
    assert ("evaluation pass (live)", iri("pass/p1")) in made.evidence


def test_card_is_markdown_and_html():
    """Markdown and HTML name every task; the page is well formed and links its evidence."""
    made = card(small(), select(small()), "Model A", figures=["a.svg"])
    markdown, page = as_markdown_card(made), as_html_card(made)
    for text in (markdown, page):
        assert "Pick-turtle" in text
        assert "a.svg" in text
    tags = Tags(page)
    assert tags.open == []
    assert iri("run/r1") in tags.links


def test_recorded_text_cannot_script_a_card():
    """Names from a store are escaped in the page, whatever they contain."""
    name = "<script>alert(1)</script>\x1b"
    table = Table(name, (Column("a", name),), ((name,),))
    made = Card(ModelInfo("urn:m", name, name), ((name, name),), (table,), (), ((name, "urn:x"),))
    page = as_html_card(made)
    assert "<script" not in page
    markdown = as_markdown_card(made)
    assert "<script" not in markdown
    assert "\x1b" not in page + markdown


def test_unknown_models_have_no_card():
    """An unknown model is refused with the names of known models."""
    with pytest.raises(QueryError, match=r"the store has no model 'zzz'.*Model A, Model B"):
        card(small(), select(small()), "zzz")


def test_store_from_python(tmp_path):
    """Python gives the same tables as the command line, and numbers in queries as numbers."""
    location = str(tmp_path / "s")
    owned("analysis_scores", location).close()
    with kgbench.open(location) as results:
        assert results.leaderboard().rows == leaderboard(small(), select(small())).rows
        rows = results.query("score-histograms", metric=iri("metric/Mend/2.0/max_combined"))
        assert sum(rows.column("count")) == 5
        assert set(rows.column("value")) == {0.0, 0.9, 1.0}
        assert results.select(models="model-a").tasks().column("n") == [3, 3, 3]
        assert results.compare("model-a", "model-b").rows
        assert results.feedback().rows
        assert results.characterization().rows
        assert results.leaderboard(significance=True, samples=20).rows
        assert bool(results.sparql("ASK { GRAPH ?g { ?s ?p ?o } }"))
