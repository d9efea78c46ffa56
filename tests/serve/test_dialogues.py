# SPDX-License-Identifier: Apache-2.0
"""The list of dialogues uses the command's query, with sorting, filters and pages."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qsl

import pytest

from kgbench.analysis import dialogue_search
from kgbench.analysis.dialogue_search import SORTS, find_dialogues
from kgbench.errors import QueryError
from kgbench.pages.things import MemoryView
from kgbench.scores.selection import select
from kgbench.serve import dialogue_lists
from kgbench.serve.dialogue_lists import DialogueSearch, listed_dialogues
from kgbench.vocab import BASE
from tests.support.analysis_store import graph


@pytest.fixture(scope="module")
def view():
    """Return the small store of scores as a view for pages."""
    return MemoryView(graph("analysis_scores").database, BASE)


@pytest.fixture
def short_pages(monkeypatch):
    """Set the page size to two dialogues."""
    monkeypatch.setattr(dialogue_lists, "PAGE", 2)


def listed(view, suite=None, **given):
    """Return a page of the list for the fields of a form."""
    wanted = DialogueSearch.read(given)
    assert wanted.problem is None
    fields = {name: getattr(wanted, name) for name in DialogueSearch.__dataclass_fields__}
    return listed_dialogues(view, suite, fields)


def page(client, query=""):
    """Return the page as a browser requests it."""
    return client.get(f"/dialogues{query}", headers={"Accept": "text/html"})


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, {}),
        ({"below": "0.5"}, {"below": 0.5}),
        ({"outcome": "timeout"}, {"outcome": "timeout"}),
        ({"sort": "model", "search": "e"}, {"sort": "model", "text": "e"}),
        ({"model": "model-b", "task": "Mend-*"}, {"models": "model-b", "tasks": "Mend-*"}),
    ],
    ids=["all", "below", "outcome", "text", "globs"],
)
def test_page_lists_what_the_command_lists(view, fields, options):
    """The page has the same dialogues as the command, in the same order, with the same scores."""
    selectors = {name: options.pop(name) for name in ("models", "tasks") if name in options}
    table = find_dialogues(view, select(view, **selectors), **options)
    found = listed(view, **fields)
    assert found["total"] == len(table.rows)
    assert [(row["iri"].removeprefix(BASE), row["score"]) for row in found["rows"]] == [
        (record["dialogue"], record["score"]) for record in table.records()
    ]


def test_outcomes_are_counted_and_answers_quoted(view):
    """The list counts the outcomes of all answers, and quotes the last answer of a dialogue."""
    found = listed(view)
    quoted = MemoryView(graph("result").database, BASE)
    rows = listed(quoted, f"{BASE}suite/kgbench-1")["rows"]

    assert dict(found["counts"]) == {"scored": 15, "unparsable": 1, "empty": 1, "timeout": 1}
    assert found["runs"] == [("r1", "small")]
    assert [row["answer"] for row in rows] == [":a :b :c .", "a-n-n-e", None]


def test_pages_divide_the_list(view, short_pages):
    """Each dialogue is on exactly one page, and a page beyond the last is the last."""
    whole = listed(view)
    pages = [listed(view, page=str(n))["rows"] for n in range(1, whole["pages"] + 1)]
    iris = [row["iri"] for rows in pages for row in rows]
    assert len(iris) == len(set(iris)) == whole["total"]
    assert listed(view, page="999")["page"] == whole["pages"]


@pytest.mark.parametrize("sort", sorted(SORTS))
def test_every_order_can_be_turned_round(view, sort):
    """The reverse order has the same dialogues; those without a score stay at the end."""
    there = [row["iri"] for row in listed(view, sort=sort)["rows"]]
    back = listed(view, sort=sort, order="down")["rows"]
    assert sorted(row["iri"] for row in back) == sorted(there)
    assert [row["iri"] for row in back] != there
    if sort == "score":
        scores = [row["score"] for row in back]
        scored = [score for score in scores if score is not None]
        assert scores == [*sorted(scored, reverse=True), *[None] * (len(scores) - len(scored))]


@pytest.mark.parametrize(
    "query",
    ["below=low", "below=nan", "page=0", "page=x", "outcome=lucky", "sort=size", "model=none-*"],
)
def test_what_cannot_be_found_is_said(client, query):
    """An invalid or unmatched filter shows the form with an error message."""
    response = page(client, f"?suite=kgbench-1&{query}")
    assert response.status_code in {400, 404}
    assert 'role="alert"' in response.text
    assert "<form" in response.text


def test_headings_and_pages_keep_the_filters():
    """A link to another order or page keeps all other filters."""
    asked = DialogueSearch.read({"model": "a*", "below": "0.5", "search": "x & y", "page": "3"})
    assert asked.query("s", page=4) == "suite=s&model=a%2A&below=0.5&search=x+%26+y&page=4"
    assert "page" not in asked.query("s", sort="model", page=1)
    assert "order=down" in asked.query("s", reverse=True)


@pytest.mark.parametrize("below", [0.5, 1.0, 0.1 + 0.2, 0.66666666, 1234567.5, 5e-324])
def test_bounds_are_kept_exactly(client, below):
    """Links and the form of a list have the bound of the list, unrounded."""
    query = DialogueSearch(below=below).query("s", page=2)
    assert DialogueSearch.read(dict(parse_qsl(query))).below == below
    (field,) = re.findall(
        r'<input name="below"[^>]*value="([^"]*)"', page(client, f"?below={below}").text
    )
    assert float(field) == below


def test_page_links_to_dialogues(client):
    """Every row links to its dialogue, and every heading to its order."""
    text = page(client, "?suite=kgbench-1").text
    assert 'href="/run/1/oracle/Spell-10/0-d1d1d1d1"' in text
    for name in SORTS:
        assert f"sort={name}" in unescape(text) or name == "score"
    links = re.findall(r'class="sorting" href="([^"]+)"', text)
    assert len(links) == len(SORTS)
    for link in links:
        assert client.get(unescape(link), headers={"Accept": "text/html"}).status_code == 200
    of_run = page(client, "?suite=kgbench-1&run=1").text
    assert "of the run" in of_run
    assert "by hand" in of_run


@pytest.mark.parametrize(
    "path",
    [
        *("/leaderboard?pass=nope", "/leaderboard?set=nope", "/dialogues?pass=nope"),
        *("/compare?a=nope&b=nix", "/dialogues?run=nope", "/dialogues?suite=kgbench-1&run=nope"),
    ],
)
def test_unknown_names_are_not_found(client, result_store, path):
    """An unknown name is reported without the path of the store; a run beside those there are."""
    response = page(client, path.removeprefix("/dialogues")) if "run=" in path else client.get(path)
    assert response.status_code == 404
    assert str(result_store.parent) not in response.text
    if "run=" in path:
        assert "'nope' names no run in results; there are: 1 (" in unescape(response.text)


def test_of_too_many_dialogues_the_worst_are_listed(view, monkeypatch):
    """If there are too many dialogues, the worst are listed, and other searches are refused."""
    whole = listed(view)
    total = dialogue_search.count_dialogues(view, select(view))
    monkeypatch.setattr(dialogue_lists, "_MOST", total - 1)
    monkeypatch.setattr(dialogue_lists, "_WORST", 3)
    found = listed(view)
    assert (found["total"], found["worst"]) == (total, 3)
    assert found["rows"] == whole["rows"][:3]
    assert dialogue_lists.all_judged(view, None, "first") is None
    for fields in ({"sort": "task"}, {"search": "e"}, {"below": "0.5"}, {"order": "down"}):
        with pytest.raises(QueryError, match=f"^{total} dialogues are too many"):
            listed(view, **fields)
    fewer = listed(view, model="model-b", sort="task")
    assert fewer["worst"] is None
    assert 0 < fewer["total"] < total


def test_a_few_dialogues_are_read_alone(view, monkeypatch):
    """Some dialogues have the same outcomes and scores as among all."""
    monkeypatch.setattr("kgbench.scores.reading.MOST_PAIRS", 4)
    of_all = {one.dialogue: one for one in dialogue_search.judged_dialogues(view, select(view))}
    wanted = sorted(of_all)[::2]
    found = dialogue_search.judged_dialogues(view, select(view), [BASE + one for one in wanted])
    assert {one.dialogue: one for one in found} == {name: of_all[name] for name in wanted}
