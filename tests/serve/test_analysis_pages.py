# SPDX-License-Identifier: Apache-2.0
"""A page, and files, for each analysis."""

import csv
import io
import json

import pytest

from kgbench.analysis.index import ANALYSES, INDEX
from kgbench.analysis.registry import Parameter
from kgbench.errors import QueryError
from kgbench.pages.rendering import environment
from kgbench.scores.selection import select
from kgbench.store import open_reader
from kgbench.tables import Column, Kind, Table
from kgbench.tables.rendering import as_csv

HTML = {"Accept": "text/html"}
SUITE = "kgbench-1"


@pytest.mark.parametrize("name", INDEX)
def test_each_analysis_has_a_page(client, result_store, name):
    """The page has the form and the table, or says why there is none; the CSV is the table."""
    response = client.get(f"/analysis/{name}?suite={SUITE}", headers=HTML)
    file = client.get(f"/analysis/{name}.csv?suite={SUITE}")

    for parameter in ANALYSES[name].parameters():
        assert (f'name="{parameter.name}"' in response.text) is (parameter.name != "declared")
    with open_reader(str(result_store)) as store:
        try:
            table = ANALYSES[name](store, select(store, SUITE))
        except QueryError as error:
            assert (response.status_code, file.status_code) == (200, 404)
            reason = str(error).partition("'")[0]
            assert reason in file.text
            assert reason in response.text
            return
    assert response.status_code == 200, response.text
    assert file.text == as_csv(table)
    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'<a href="/analysis/{name}.xlsx?suite={SUITE}">' in response.text


def test_options_and_selectors_reach_the_table(client):
    """A query string has the words of the command line."""
    rows = list(
        csv.DictReader(
            io.StringIO(client.get("/analysis/tasks.csv?task=Spell-10&estimand=dialogues").text)
        )
    )
    assert {row["task"] for row in rows} == {"Spell-10"}
    made = client.get("/analysis/leaderboard.json?significance=1&alpha=0.01").json()
    assert made["context"]["test"] == "clustered"
    assert "alpha 0.01" in " ".join(made["notes"])
    assert client.get("/analysis/leaderboard.xlsx").content[:2] == b"PK"


def test_references_are_links(client):
    """Models and tasks of a table link to their pages."""
    page = client.get("/analysis/tasks", headers=HTML).text
    assert 'href="/model/oracle"' in page
    assert 'href="/task/Spell/1.0/Spell-10/11aa22bb"' in page


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("beauty=1", "beauty: 'leaderboard' has no such option on the web"),
        ("declared=/etc/passwd", "declared: 'leaderboard' has no such option on the web"),
        ("alpha=much", "alpha: 'much' is not permitted"),
        ("alpha=2", "alpha: 2.0 is not in the range 0 to 1"),
        ("round=<script>", "'<script>' is not a round"),
    ],
)
def test_wrong_options_are_refused_in_words(client, query, message):
    """The form is shown again with the problem; a file is refused in plain text."""
    page = client.get(f"/analysis/leaderboard?{query}", headers=HTML)
    assert page.status_code == 400
    assert message.replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;") in page.text
    file = client.get(f"/analysis/leaderboard.csv?{query}")
    assert (file.status_code, file.text) == (400, message + "\n") or message in file.text


def test_lists_link_to_all_and_other_paths_are_resources(client):
    """The list names each analysis; what is no analysis is looked up in the store."""
    listed = client.get("/analysis", headers=HTML).text
    assert all(f'href="/analysis/{name}"' in listed for name in INDEX)
    assert "/analysis" in client.get("/", headers=HTML).text
    for path in ("nothing", "leaderboard.pdf", "leaderboard/x"):
        assert client.get(f"/analysis/{path}").status_code == 404
    assert client.put("/analysis/leaderboard", content=b"").status_code == 405


def test_texts_are_read_by_type():
    """Boxes, numbers and choices of a form become values."""
    parameters = {each.name: each for each in ANALYSES["reliability"].parameters()}
    assert parameters["k"].read("3") == 3
    assert parameters["solved"].read("0.5") == 0.5
    assert [parameters["common"].read(text) for text in ("1", "0")] == [True, False]
    assert isinstance(parameters["k"], Parameter)
    assert json.dumps(ANALYSES["tools"].recorded({"by": "tool"})) == '{"by": "tool"}'


def test_marked_cells_are_bold():
    """A preference that is significant at the stricter level is bold, without its asterisks."""
    columns = (Column("model", "Model"), Column("winner", "Winner", Kind.MARK))
    table = Table("Preference", columns, (("**a**", "**JSON**"), ("b", "Turtle")))
    made = str(environment().get_template("parts.html").module.table(table, str))
    assert "<bdi>**a**</bdi>" in made
    assert "<strong>JSON</strong>" in made
    assert "<bdi>Turtle</bdi>" in made
