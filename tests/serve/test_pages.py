# SPDX-License-Identifier: Apache-2.0
"""Pages: recorded texts stay text, nothing is loaded from elsewhere, everything is linked."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.serve import stores
from tests.serve.conftest import asking

DIALOGUE = "/run/1/oracle/Spell-10/0-d1d1d1d1"
TASK = "/task/Spell/1.0/Spell-10/11aa22bb"
PAGES = [
    *("/", "/leaderboard", "/compare", "/search?q=a", "/editor", "/ns", "/run/1", DIALOGUE),
    *("/model/oracle", "/task/Spell/1.0/Spell-10/11aa22bb", "/case/kgbench-1/Spell/case/a1"),
    *("/metric/Spell/1.0/f1", "/pass/1", "/suite/kgbench-1", "/graph/run/1"),
    *("/dialogues", "/compare?a=model/oracle&b=model/oracle"),
]


class Elements(HTMLParser):
    """A parser that collects the elements of a page and their attributes."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.text = []

    def handle_starttag(self, tag, attrs):
        """Keep an element."""
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        """Keep a text."""
        self.text.append(data)


def parsed(text):
    """Return the parser of a page, with its elements and texts."""
    parser = Elements()
    parser.feed(text)
    return parser


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Yield a client of a server with hostile texts in its records."""
    texts = dict.fromkeys(
        ("a-n-n-e", "Spell anne.", "Oracle", "by hand", "Spell a local name."), stores.HOSTILE
    )
    folder = stores.make(tmp_path_factory.mktemp("hostile") / "results", texts=texts)
    with asking(folder) as found:
        yield found


def page(client, path):
    """Return a page as a browser requests it."""
    return client.get(path, headers={"Accept": "text/html"})


@pytest.mark.parametrize("path", PAGES)
def test_page_is_there_and_safe(client, path):
    """Each page works without inline scripts and styles, and loads only local resources."""
    response = page(client, path)
    expected = 404 if "compare?" in path else 200

    assert expected == response.status_code, response.text[:500]
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    elements = parsed(response.text).found
    for tag, attributes in elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        if tag == "script":
            assert attributes.get("type") == "application/ld+json" or "src" in attributes
        if tag in ("script", "img", "link"):
            source = attributes.get("src") or attributes.get("href") or ""
            assert source.startswith(("/", "data:,")) or not source
    assert [tag for tag, _ in elements].count("h1") == 1
    assert ("html", {"lang": "en"}) in elements


@pytest.mark.parametrize("path", PAGES[:-1])
def test_recorded_text_stays_text(hostile, path):
    """Stored scripts, markup, direction overrides and control characters have no effect."""
    response = page(hostile, path)

    assert 200 == response.status_code
    for tag, attributes in parsed(response.text).found:
        assert "onerror" not in attributes
        assert "onload" not in attributes
        assert tag != "img"
        assert not attributes.get("href", "").startswith("javascript:")
    assert "<script>alert" not in response.text
    for character in "\u202e\u2066\x07\x1b\x00":
        assert character not in response.text


def test_hostile_text_is_shown(hostile):
    """A reader sees the model's text, with escapes for control characters."""
    text = "".join(parsed(page(hostile, DIALOGUE).text).text)

    assert "<script>alert(1)</script>" in text
    assert "\\u202egnp.exe" in text
    assert "{{ 7*7 }}" in text
    found = page(hostile, "/search?q=%3Csvg%20onload").text
    assert "<mark>&lt;svg onload</mark>" in found


def test_reference_answers_are_hidden_until_asked_for(client):
    """A case and a dialogue show the expected answer only with ``reveal``."""
    case = "/case/kgbench-1/Spell/case/a1"
    assert "anne&#34;" not in page(client, case).text
    assert "anne" in page(client, f"{case}?reveal=1").text
    assert "Expected" not in page(client, DIALOGUE).text
    assert "Expected" in page(client, f"{DIALOGUE}?reveal=1").text


def test_dialogue_shows_turns_and_verdicts(client):
    """A dialogue has prompt, answer, verdict and a drawing of the provenance."""
    text = page(client, DIALOGUE).text

    assert "Spell anne." in text
    assert "a-n-n-e" in text
    assert "verdict on answer 0" in text
    assert 'class="provenance"' in text


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/leaderboard", "/run/1", "/dialogues", "/model/oracle", TASK, DIALOGUE),
        *("/search?q=a", "/compare?a=Oracle&b=Oracle"),
    ],
)
def test_tables_and_figures_lead_to_their_queries(client, path):
    """Each page with tables or figures links to the queries behind them, which run."""
    text = page(client, path).text
    links = {
        link.replace("&amp;", "&")
        for note in re.findall(r"SPARQL:(.*?)</(?:p|figcaption)>", text, re.DOTALL)
        for link in re.findall(r'href="(/editor\?[^"]*)"', note)
    }

    assert links
    for link in links:
        assert "<textarea" in page(client, link).text
        query = unescape(
            re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page(client, link).text, re.DOTALL)[1]
        )
        assert 200 == client.get("/sparql", params={"query": query}).status_code, link


def test_invalid_results_are_said_to_be(client):
    """A run states the number of invalid dialogues, and an invalid dialogue the reason."""
    assert re.search(r">1</strong>\s+invalid\s+and not counted", page(client, "/run/2").text)
    wrong = page(client, "/run/2/parrot-2-2026-01-01/Spell-10/0-e1e1e1e1").text
    assert "This dialogue is not counted" in wrong
    assert "another model answered" in wrong
    assert "not counted" not in page(client, DIALOGUE).text


def test_editor_runs_without_javascript(client):
    """The plain form shows rows, graphs, booleans and error messages."""
    for query, expected in (
        ("SELECT (1 AS ?one) {}", '<th scope="col">one</th>'),
        ("ASK {}", "yes"),
        ("CONSTRUCT { <http://example.org/s> a <http://example.org/T> } {}", "example.org/T"),
        ("SELECT", "the query is not SPARQL: line 1"),
        ("ASK { ?s a kgb:Modle }", "there is no kgb:Modle: did you mean kgb:Model"),
        ("SELECT * { SERVICE <http://127.0.0.1:9/> {} }", "another endpoint"),
    ):
        response = client.get("/editor", params={"query": query, "run": "1"})
        assert 200 == response.status_code
        assert expected in response.text


def test_every_declared_query_is_an_example(client):
    """The editor links to every query in queries/, and an unknown query is 404."""
    from kgbench.rdf import queries

    text = page(client, "/editor").text
    for name in queries.names():
        assert f"editor?name={name}" in text
    assert 404 == page(client, "/editor?name=nonesuch").status_code
